#pragma once

#include <string_view>

namespace karmad {

/// Whether `text` matches an SQL pattern: `%` any bytes, `_` any one byte, `\` escapes the next
/// one. ASCII letters match in either case. At most |pattern| * |text| steps.
bool is_like(std::string_view text, std::string_view pattern);

}  // namespace karmad
