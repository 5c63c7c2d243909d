#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string_view>

#include "config/settings.hpp"

namespace karmad {

/// A number as it stood in JSON text: integers of 64 bits exactly, everything else as a double.
struct JsonNumber {
  bool integer = true;
  bool negative = false;
  std::uint64_t magnitude = 0;  ///< of an integer
  double real = 0;              ///< of anything else
};

/// Reads the text of a JSON number; what does not fit 64 bits, or has a point or exponent, is real.
JsonNumber json_number(std::string_view text);

/// Exact also between an integer and a real.
std::strong_ordering compare(const JsonNumber& a, const JsonNumber& b);

long double as_real(const JsonNumber& number);

/// What a hit or a bucket is ordered by. Missing values (null, arrays, objects) come before numbers
/// and numbers before strings. The view is into the reply it was read from.
struct SortValue {
  enum class Kind : std::uint8_t { missing, number, text };
  Kind kind = Kind::missing;
  JsonNumber number;
  std::string_view text;  ///< inside of the JSON string, escapes and all
};

/// `value`: bytes of any JSON value. `true` and `false` count as 1 and 0.
SortValue sort_value(std::string_view value);

/// A place for the text of a number that stands in JSON in another way.
using SortText = std::array<char, 32>;

/// What stands inside a JSON attribute is ordered as text: integers as they stand (so 10 comes
/// before 9), real numbers with six decimals, strings; anything else, and nothing, as an empty
/// text. `room` may hold that text for as long as the value is used.
SortValue json_sort_value(std::string_view value, SortText& room);

/// A number that decides most comparisons at once: of two values with different ranks the one with
/// the lower rank is the lower one, whatever the collation; equal ranks say nothing.
std::uint64_t rank(const SortValue& value);

/// Compares as the search server does: libc_ci folds ASCII letters, the others compare bytes.
/// Escapes are resolved on the way; nothing is copied.
std::strong_ordering compare(const SortValue& a, const SortValue& b, Collation collation);

}  // namespace karmad
