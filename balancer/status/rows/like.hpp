#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "agent/dialect/rows/result_set.hpp"

namespace karmad {

/// Whether `text` matches an SQL pattern: `%` any bytes, `_` any one byte, `\` escapes the next
/// one. ASCII letters match in either case. At most |pattern| * |text| steps.
bool is_like(std::string_view text, std::string_view pattern);

/// Keeps the rows whose first column matches the pattern, if there is one.
void keep_like(ResultSet& set, const std::optional<std::string>& pattern);

}  // namespace karmad
