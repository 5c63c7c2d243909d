#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>

#include "agent/dialect/dialect.hpp"

namespace karmad {

/// The table and options of a SELECT.
struct Select {
  std::string table;            ///< several: their names with commas between them
  std::size_t table_begin = 0;  ///< in the statement, backquotes included
  std::size_t table_end = 0;
  QueryOptions options;
  bool scrolls = false;  ///< OPTION scroll
};

/// Finds the tables of a SELECT and the plain options of its OPTION clause. Refuses (400) joins and
/// sub-selects, several statements, tokens that engines read differently (SqlTokens), and with
/// `fuzzy` texts that could become statements.
std::expected<Select, ClientError> read_select(std::string_view statement);

/// Whether a SELECT may name a table: false only if it has no FROM, JOIN or further SELECT
/// anywhere, no text that engines read differently, closed brackets, and at most 4096 bytes.
bool may_name_tables(std::string_view statement);

}  // namespace karmad
