#pragma once

#include <cstddef>
#include <cstring>
#include <string_view>

namespace karmad {

/// Whether `text` is `literal`; cheaper than `==`, which asks a function where the sizes are equal.
template <std::size_t Size>
bool equals_literal(std::string_view text, const char (&literal)[Size]) {
  return text.size() == Size - 1 && std::memcmp(text.data(), literal, Size - 1) == 0;
}

}  // namespace karmad
