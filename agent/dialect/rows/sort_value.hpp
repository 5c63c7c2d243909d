#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string_view>

#include "config/settings/settings.hpp"

namespace karmad {

/// A number read from JSON text: 64-bit integers exactly, all others as a double.
struct JsonNumber {
  bool integer = true;
  bool negative = false;
  std::uint64_t magnitude = 0;  ///< of an integer
  double real = 0;              ///< of anything else
};

/// Reads a JSON number; one that does not fit 64 bits, or has a point or exponent, is real.
JsonNumber json_number(std::string_view text);

/// Exact, also between an integer and a real number.
std::strong_ordering compare(const JsonNumber& a, const JsonNumber& b);

long double as_real(const JsonNumber& number);

/// The value by which a hit or bucket is ordered. Missing values (null, arrays, objects) come
/// before numbers, numbers before strings. The view is into the reply.
struct SortValue {
  enum class Kind : std::uint8_t { missing, number, text };
  Kind kind = Kind::missing;
  JsonNumber number;
  std::string_view text;  ///< inside of the JSON string, still escaped
};

/// `value`: bytes of any JSON value. `true` and `false` count as 1 and 0.
SortValue sort_value(std::string_view value);

/// Buffer for a number's sort text where it differs from its JSON text.
using SortText = std::array<char, 32>;

/// The sort value of a value inside a JSON attribute, which the server orders as text: integers by
/// their digits (10 before 9), real numbers with six decimals, strings; all others as an empty
/// text. The result may refer to `room`, which must outlive it.
SortValue json_sort_value(std::string_view value, SortText& room);

/// A number for fast comparison: of two values with different ranks the one with the lower rank is
/// lower, in every collation; equal ranks decide nothing.
std::uint64_t rank(const SortValue& value);

/// Compares as the search server does: libc_ci ignores the case of ASCII letters, the others
/// compare bytes. Resolves escapes without a copy.
std::strong_ordering compare(const SortValue& a, const SortValue& b, Collation collation);

}  // namespace karmad
