#pragma once

#include <string_view>

#include "agent/dialect/manticore_json/request.hpp"

namespace karmad {

/// A fast reader for common search requests: ASCII JSON without escapes, numbers of up to 18 digits
/// without exponent, none of karmad's `options`, depth at most 32. False for all other texts,
/// malformed ones included: `request` is then undefined, and read_search_request() must read the
/// text. On true both give the same result; this one costs a third.
bool read_plain_request(std::string_view body, unsigned max_depth, SearchRequest& request);

}  // namespace karmad
