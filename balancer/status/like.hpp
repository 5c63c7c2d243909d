#pragma once

#include <string_view>

namespace karmad {

/// Whether `text` matches an SQL pattern: `%` is any run of bytes, `_` any one byte, `\` takes what
/// follows as it is. ASCII letters match in either case. At most |pattern| * |text| steps.
bool is_like(std::string_view text, std::string_view pattern);

}  // namespace karmad
