#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>

#include "agent/dialect/dialect.hpp"

namespace karmad {

/// What a SELECT says about where it goes.
struct Select {
  std::string table;
  std::size_t table_begin = 0;  ///< in the statement, backquotes included
  std::size_t table_end = 0;
  QueryOptions options;
};

/// Finds the one table of one SELECT, and the plain options of its OPTION clause. Refuses what
/// would read more than one table (400: several, joins, sub-selects; or several statements), and
/// what engines cut into tokens differently (SqlTokens).
std::expected<Select, ClientError> read_select(std::string_view statement);

}  // namespace karmad
