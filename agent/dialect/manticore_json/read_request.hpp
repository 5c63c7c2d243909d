#pragma once

#include <expected>
#include <string_view>

#include "agent/dialect/manticore_json/request.hpp"

namespace karmad {

/// Validates the whole body (RFC 8259, UTF-8, nesting up to `max_depth`) in one pass
/// without building a tree, and finds the properties above. Errors are the client's (400).
std::expected<SearchRequest, ClientError> read_search_request(std::string_view body,
                                                              unsigned max_depth);

}  // namespace karmad
