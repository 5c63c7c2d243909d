#pragma once

#include <cstddef>
#include <cstring>
#include <string_view>

namespace karmad {

/// Whether `text` equals `literal`; faster than `==`, which calls memcmp for equal sizes.
template <std::size_t Size>
bool equals_literal(std::string_view text, const char (&literal)[Size]) {
  return text.size() == Size - 1 && std::memcmp(text.data(), literal, Size - 1) == 0;
}

/// The same for the beginning of `text`, instead of `starts_with`.
template <std::size_t Size>
bool starts_with_literal(std::string_view text, const char (&literal)[Size]) {
  return text.size() >= Size - 1 && std::memcmp(text.data(), literal, Size - 1) == 0;
}

}  // namespace karmad
