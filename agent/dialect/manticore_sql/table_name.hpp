#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace karmad {

/// Appends a mirror's table names, separated by commas; those that need backquotes get them.
void append_table_names(std::string& out, std::span<const std::string> tables);

/// The same in the place of `replaced`: where the client wrote backquotes, all names get them, as
/// words may stand right beside them.
void append_table_names(std::string& out, std::span<const std::string> tables,
                        std::string_view replaced);

/// Appends a statement with the bytes from `begin` to `end`, the client's names of tables, replaced
/// by these names; `end` 0: unchanged.
void append_with_tables(std::string& out, std::string_view statement, std::size_t begin,
                        std::size_t end, std::span<const std::string> tables);

}  // namespace karmad
