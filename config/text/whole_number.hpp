#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace karmad {

/// The integer that the digits of the text say, with a minus if T is signed; nothing: it is another
/// text, or does not fit T.
template <class T>
std::optional<T> whole_number(std::string_view text) {
  T value{};
  const auto* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  if (read.ec != std::errc{} || read.ptr != end) return std::nullopt;
  return value;
}

}  // namespace karmad
