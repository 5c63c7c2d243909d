#pragma once

#include <string_view>

namespace karmad {

/// Why a request for a route of a table must not be passed on by its path: a server could
/// find it to lead out of the route, or not all read it alike. Empty: nothing is wrong with it.
/// Refused are segments `.` and `..`, also encoded or with parameters (`..;x`), empty segments,
/// slashes and backslashes that are encoded, any backslash, control characters, bytes that UTF-8
/// does not have, escapes that are none, and escapes of escapes of all these.
std::string_view trouble_with_path(std::string_view path);

}  // namespace karmad
