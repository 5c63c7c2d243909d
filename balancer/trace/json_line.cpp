#include "balancer/trace/json_line.hpp"

#include <rapidjson/encodings.h>
#include <rapidjson/memorystream.h>

#include <algorithm>
#include <array>

namespace karmad {
namespace {

constexpr std::size_t kLongest = 6;  // what a byte may become
constexpr std::size_t kStep = 512;   // most lines are shorter

constexpr auto kPlain = [] {
  std::array<bool, 256> plain{};
  for (unsigned c = 0x20; c < 0x7f; ++c) plain[c] = c != '"' && c != '\\';
  return plain;
}();

char* put_unit(char* at, unsigned unit) {
  constexpr std::string_view digits = "0123456789abcdef";
  *at++ = '\\';
  *at++ = 'u';
  for (int shift = 12; shift >= 0; shift -= 4) *at++ = digits[unit >> shift & 15];
  return at;
}

/// The character of UTF-8, or the byte that belongs to none, which stands at `from`; that goes on
/// behind it.
char* put_escaped(char* at, const char*& from, const char* end) {
  rapidjson::MemoryStream stream(from, static_cast<std::size_t>(end - from));
  unsigned codepoint = 0;
  if (!rapidjson::UTF8<>::Decode(stream, &codepoint)) {
    ++from;
    return put_unit(at, 0xFFFD);
  }
  from += stream.Tell();
  if (codepoint < 0x10000) return put_unit(at, codepoint);
  at = put_unit(at, 0xD800 + ((codepoint - 0x10000) >> 10));
  return put_unit(at, 0xDC00 + ((codepoint - 0x10000) & 0x3FF));
}

}  // namespace

void JsonLine::grow(std::size_t bytes) {
  out_.resize(end_ + std::max(bytes, kStep));
}

void JsonLine::add_quoted(std::string_view text, std::size_t most) {
  text = text.substr(0, most);
  auto* const begin = room(text.size() * kLongest + 2);
  auto* at = begin;
  *at++ = '"';
  const auto* const end = text.data() + text.size();
  for (const auto* from = text.data(); from != end;) {
    const char c = *from;
    if (kPlain[static_cast<unsigned char>(c)]) {
      *at++ = c;
      ++from;
    } else if (c == '"' || c == '\\') {
      *at++ = '\\';
      *at++ = c;
      ++from;
    } else {
      at = put_escaped(at, from, end);
    }
  }
  *at++ = '"';
  end_ += static_cast<std::size_t>(at - begin);
}

}  // namespace karmad
