#pragma once

#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/dialect/kinds/dialect_kind.hpp"

namespace karmad {

/// The most names and wildcards in one list, and the most tables that a list may stand for.
inline constexpr std::size_t kMaxListedTables = 256;

/// A table that a list may name.
struct ListableTable {
  std::string_view name;
  std::string_view dialect;  ///< name of its dialect
};

/// True for a text that stands for several tables: names with commas, `_all`, or a wildcard (`*`
/// stands for any number of characters).
bool is_table_list(std::string_view text);

/// Whether the text, a name or a list, names one of these tables at least, of that dialect.
bool names_any(std::string_view text, std::span<const ListableTable> tables,
               std::string_view dialect);

/// The positions of the named tables of that dialect: in the order of the list, a wildcard's in
/// their own order, without duplicates. White space around names and empty pieces are ignored;
/// names are case-insensitive. 404 for a name or a wildcard without a table, 400 for a list that is
/// empty or too long. `shows_known`: the error names the other tables.
std::expected<std::vector<std::size_t>, ClientError> listed_tables(
    std::string_view text, std::span<const ListableTable> tables, std::string_view dialect,
    bool shows_known = true);

/// The error for an unknown name of a table; lists up to 20 of the known ones, if there are any.
std::string unknown_table(std::string_view name, std::span<const std::string_view> known);

}  // namespace karmad
