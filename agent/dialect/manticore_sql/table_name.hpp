#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace karmad {

/// Appends a mirror's table names, separated by commas; those that need backquotes get them.
void append_table_names(std::string& out, std::span<const std::string> tables);

/// Appends a statement with the bytes from `begin` to `end` replaced by these names; `end` 0:
/// unchanged.
void append_with_tables(std::string& out, std::string_view statement, std::size_t begin,
                        std::size_t end, std::span<const std::string> tables);

}  // namespace karmad
