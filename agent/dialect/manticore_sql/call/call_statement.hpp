#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "agent/dialect/dialect.hpp"

namespace karmad {

/// The procedures of the search server that read a table.
enum class CallKind : std::uint8_t { pq, suggest, qsuggest, keywords, snippets, autocomplete };

/// `value AS name`, or `value name`. Offsets in the statement, quotes included.
struct CallOption {
  std::string name;  ///< in lower case
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// A statement `CALL procedure('…', 'table', 5 AS limit)`.
struct CallStatement {
  CallKind kind = CallKind::keywords;
  std::string table;
  std::size_t table_begin = 0;  ///< of the argument that names it, quotes included
  std::size_t table_end = 0;
  std::vector<CallOption> options;
  std::size_t arguments_end = 0;  ///< of the bracket that ends the arguments

  const CallOption* option(std::string_view name) const;
};

/// Reads as much of it as routing and merging need. The table is the first argument of PQ and the
/// second of the others. 400 with the position and what was expected; also for a second table
/// (`'name' AS table`), which an engine could read instead of the first.
std::expected<CallStatement, ClientError> read_call_statement(std::string_view statement);

/// The value of an option as a count; `otherwise` if it is not given. 400 if it is no count.
std::expected<std::size_t, ClientError> count_option(const CallStatement& call,
                                                     std::string_view statement,
                                                     std::string_view name, std::size_t otherwise);

}  // namespace karmad
