#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace karmad {

struct SqlToken {
  enum class Kind : std::uint8_t { name, number, text, sign, end };
  Kind kind = Kind::end;
  std::string text;       ///< a string without quotes and escapes
  std::size_t begin = 0;  ///< its offset
};

/// Splits a statement; the last token is `end`. An unclosed string ends the statement.
std::vector<SqlToken> sql_tokens(std::string_view statement);

}  // namespace karmad
