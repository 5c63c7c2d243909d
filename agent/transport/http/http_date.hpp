#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace karmad {

/// Reads `Sun, 06 Nov 1994 08:49:37 GMT`, the only form in current use (RFC 9110, 5.6.7).
std::optional<std::chrono::sys_seconds> http_date(std::string_view text);

}  // namespace karmad
