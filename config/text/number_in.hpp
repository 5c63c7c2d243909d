#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace karmad {

/// The number that the whole text says: digits, with a minus unless T is unsigned, and for a
/// floating T also with a point, an exponent, or as inf and nan. Nothing: it is another text, or
/// does not fit T.
template <class T>
std::optional<T> number_in(std::string_view text) {
  T value{};
  const auto* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  if (read.ec != std::errc{} || read.ptr != end) return std::nullopt;
  return value;
}

}  // namespace karmad
