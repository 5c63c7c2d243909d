#pragma once

#include <string>
#include <string_view>

namespace karmad {

/// Why the body of a request below /pq/{table} is refused; empty: it is one JSON object (RFC 8259,
/// nesting up to `max_depth`) that names no table beside the one in the path.
std::string mistake_in_percolate_body(std::string_view body, unsigned max_depth);

}  // namespace karmad
