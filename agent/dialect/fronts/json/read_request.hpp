#pragma once

#include <expected>
#include <string_view>

#include "agent/dialect/request/search_request.hpp"

namespace karmad {

/// A fast reader for common search requests: ASCII JSON without escapes, numbers of up to 18 digits
/// without exponent, none of karmad's `options`, depth at most 32. False for all other texts,
/// malformed ones included: `request` is then undefined, and read_search_request() must read the
/// text. On true both give the same result; this one costs a third.
bool read_plain_request(std::string_view body, unsigned max_depth, SearchRequest& request);

/// Validates the whole body (RFC 8259, UTF-8, nesting up to `max_depth`) in one pass
/// without building a tree, and finds the properties above. Errors are the client's (400).
std::expected<SearchRequest, ClientError> read_search_request(std::string_view body,
                                                              unsigned max_depth);

}  // namespace karmad
