#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "config/text/source_text.hpp"

namespace karmad::wire {

/// Classes of bytes in HTTP/1.1, as bits: one table look-up gives all of them.
enum ByteSet : std::uint8_t {
  kTokenByte = 1,   ///< tchar, RFC 9110 section 5.6.2
  kValueByte = 2,   ///< in a field's value: tab, space, visible ASCII, 0x80 and up
  kTargetByte = 4,  ///< in a request target: visible ASCII but `#`
  kHostByte = 8,    ///< in a name or IPv4 address of a Host, RFC 3986 section 3.2.2, but `,`
  kDigitByte = 16,
  kHexByte = 32,
};

inline constexpr std::array<std::uint8_t, 256> kByteSets = [] {
  constexpr std::string_view token_marks = "!#$%&'*+-.^_`|~";
  constexpr std::string_view host_marks = "-._~%!$&'()*+;=";
  std::array<std::uint8_t, 256> sets{};
  for (unsigned byte = 0; byte < 256; ++byte) {
    const auto c = static_cast<char>(byte);
    const bool digit = is_digit(c);
    const bool hex = digit || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
    const bool alnum = digit || is_letter(c);
    const bool visible = byte > 0x20 && byte < 0x7f;
    unsigned set = 0;
    if (alnum || token_marks.find(c) != token_marks.npos) set |= kTokenByte;
    if (visible || byte >= 0x80 || c == ' ' || c == '\t') set |= kValueByte;
    if (visible && c != '#') set |= kTargetByte;
    if (alnum || host_marks.find(c) != host_marks.npos) set |= kHostByte;
    if (digit) set |= kDigitByte;
    if (hex) set |= kHexByte;
    sets[byte] = static_cast<std::uint8_t>(set);
  }
  return sets;
}();

constexpr bool in_set(char c, ByteSet set) {
  return (kByteSets[static_cast<unsigned char>(c)] & set) != 0;
}

constexpr bool all_in(std::string_view text, ByteSet set) {
  for (const char c : text)
    if (!in_set(c, set)) return false;
  return true;
}

constexpr bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

constexpr std::string_view trimmed(std::string_view text) {
  const auto* begin = text.data();
  const auto* end = begin + text.size();
  while (begin != end && is_blank(*begin)) ++begin;
  while (begin != end && is_blank(end[-1])) --end;
  return {begin, static_cast<std::size_t>(end - begin)};
}

using karmad::lower;

/// Lower case of eight bytes at once.
constexpr std::uint64_t lower(std::uint64_t word) {
  constexpr auto each = [](std::uint64_t byte) { return byte * 0x0101010101010101u; };
  const auto low = word & each(0x7f);
  const auto from_a = low + each(0x80 - 'A');
  const auto behind_z = low + each(0x7f - 'Z');
  const auto capital = (from_a ^ behind_z) & ~word & each(0x80);
  return word | (capital >> 2);
}

/// Equal apart from the case of ASCII letters; fastest if the case is equal too.
constexpr bool same_word(std::string_view a, std::string_view b) {
  const auto size = a.size();
  if (size != b.size() || (size > 0 && ((a[0] ^ b[0]) & ~0x20) != 0)) return false;
  if (size < 4 || std::is_constant_evaluated()) {
    for (std::size_t i = 0; i < size; ++i)
      if (lower(a[i]) != lower(b[i])) return false;
    return true;
  }
  const auto same = [](std::uint64_t of_a, std::uint64_t of_b) {
    return of_a == of_b || lower(of_a) == lower(of_b);
  };
  if (size < 8) {  // compares the first four and the last four bytes
    const auto ends = [size](std::string_view text) {
      std::array<std::uint32_t, 2> parts;
      std::memcpy(&parts[0], text.data(), 4);
      std::memcpy(&parts[1], text.data() + size - 4, 4);
      return std::uint64_t{parts[0]} << 32 | parts[1];
    };
    return same(ends(a), ends(b));
  }
  const auto same_at = [&](std::size_t i) {
    std::uint64_t of_a;
    std::uint64_t of_b;
    std::memcpy(&of_a, a.data() + i, 8);
    std::memcpy(&of_b, b.data() + i, 8);
    return same(of_a, of_b);
  };
  for (std::size_t i = 0; i + 8 < size; i += 8)
    if (!same_at(i)) return false;
  return same_at(size - 8);
}

/// An order in which words are equal if they are the same_word().
struct WordLess {
  using is_transparent = void;
  bool operator()(std::string_view a, std::string_view b) const {
    if (a.size() != b.size()) return a.size() < b.size();
    if (a == b) return false;  // most have the same case
    return std::ranges::lexicographical_compare(a, b,
                                                [](char x, char y) { return lower(x) < lower(y); });
  }
};

/// Calls `each` for every element of a comma-separated list; skips empty elements.
template <class Each>
constexpr void for_each_element(std::string_view list, Each each) {
  while (!list.empty())
    if (const auto element = trimmed(take_until(list, ',')); !element.empty()) each(element);
}

}  // namespace karmad::wire
