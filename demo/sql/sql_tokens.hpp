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
  std::size_t begin = 0;  ///< its bytes in the statement
  std::size_t end = 0;
};

/// Splits statements, without comments; the last token is `end`. An unclosed string is a sign.
/// A sign directly in front of a number belongs to it where no operand precedes.
std::vector<SqlToken> sql_tokens(std::string_view text);

}  // namespace karmad
