#pragma once

#include <string_view>

namespace karmad {

/// Why a request for a route of a table must not be passed on with its path: for a server it could
/// lead out of the route, or servers could read it differently. Empty if the path is safe.
/// Refused are segments `.` and `..`, also encoded or with parameters (`..;x`), empty segments,
/// slashes and backslashes that are encoded, any backslash, control characters, bytes that are
/// not valid in UTF-8, invalid escapes, and any of these encoded twice.
std::string_view trouble_with_path(std::string_view path);

}  // namespace karmad
