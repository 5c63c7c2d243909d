#include "agent/json/json_line.hpp"

#include <rapidjson/encodings.h>
#include <rapidjson/memorystream.h>

#include <array>
#include <cstdint>

#include "agent/json/json_text.hpp"

namespace karmad {

void append_replaced(std::string& out, std::string_view text, std::span<Replaced> parts) {
  std::ranges::sort(parts, {}, [](const Replaced& each) { return each.part.data(); });
  const auto* at = text.data();
  for (const auto& [part, by] : parts) {
    out.append(at, part.data()).append(by);
    at = part.data() + part.size();
  }
  out.append(at, text.data() + text.size());
}
namespace {

constexpr std::size_t kStep = 512;  // most lines are shorter

constexpr auto kPlain = [] {
  std::array<bool, 256> plain{};
  for (unsigned c = 0x20; c < 0x7f; ++c) plain[c] = c != '"' && c != '\\';
  return plain;
}();

/// Whether one of eight bytes needs escaping. Borrows and carries mark such a byte in its high bit;
/// they may also mark neighbours, but never without it.
constexpr bool has_special(std::uint64_t bytes) {
  const auto all = [](std::uint64_t byte) { return byte * 0x0101010101010101; };
  const auto zero_in = [all](std::uint64_t word) { return (word - all(1)) & ~word; };
  const auto below_blank = (bytes - all(' ')) & ~bytes;
  const auto above_tilde = (bytes + all(1)) | bytes;
  return ((below_blank | above_tilde | zero_in(bytes ^ all('"')) | zero_in(bytes ^ all('\\'))) &
          all(0x80)) != 0;
}

char* put_unit(char* at, unsigned unit) {
  constexpr std::string_view digits = "0123456789abcdef";
  *at++ = '\\';
  *at++ = 'u';
  for (int shift = 12; shift >= 0; shift -= 4) *at++ = digits[unit >> shift & 15];
  return at;
}

/// A character of ASCII.
char* put_ascii(char* at, char c) {
  constexpr std::string_view kShort = "\n\r\t";
  if (c >= ' ' && c != '"' && c != '\\') {
    *at++ = c;
    return at;
  }
  const auto control = kShort.find(c);
  if (c < ' ' && control == kShort.npos) return put_unit(at, static_cast<unsigned char>(c));
  *at++ = '\\';
  *at++ = c < ' ' ? "nrt"[control] : c;
  return at;
}

/// The character of UTF-8, or the byte that belongs to none, which stands at `from`; that goes on
/// behind it.
char* put_character(char* at, const char*& from, const char* end) {
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

void JsonLine::add_number(double value) {
  std::array<char, 400> text;  // at most 309 digits before the point
  char* end =
      std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed).ptr;
  const std::string_view digits(text.data(), static_cast<std::size_t>(end - text.data()));
  add(digits);
  if (digits.find('.') == digits.npos) add(".0");
}

void JsonLine::add_quoted(std::string_view text) {
  add('"');
  add_escaped(text);
  add('"');
}

void JsonLine::add_escaped(std::string_view text) {
  need(text.size());
  if (copied_as_it_is(text)) {
    at_ += text.size();
    return;
  }
  for (std::size_t from = 0; from < text.size();) {
    const auto length = utf8_length(text, from);
    if (length == 0) {
      add("\xEF\xBF\xBD");
    } else if (length > 1) {
      add(text.substr(from, length));
    } else {
      need(kLongest);
      at_ = put_ascii(at_, text[from]);
    }
    from += std::max<std::size_t>(length, 1);
  }
}

void JsonLine::grow(std::size_t bytes) {
  const auto before = size();
  const auto room = before + std::max(bytes, kStep);
  out_.resize_and_overwrite(room, [room](char*, std::size_t) { return room; });
  at_ = out_.data() + before;
  end_ = out_.data() + out_.size();
}

/// Copies the text to the end. False: something in it needs escaping.
bool JsonLine::copied_as_it_is(std::string_view text) {
  const auto take = [&]<class Word>(Word word, std::size_t from) {
    std::memcpy(&word, text.data() + from, sizeof word);
    std::memcpy(at_ + from, &word, sizeof word);
    return word;
  };
  const auto size = text.size();
  if (size >= 8) {
    for (std::size_t from = 0; from + 8 < size; from += 8)
      if (has_special(take(std::uint64_t{}, from))) return false;
    return !has_special(take(std::uint64_t{}, size - 8));
  }
  if (size >= 4) {
    const std::uint64_t first = take(std::uint32_t{}, 0);
    return !has_special(first << 32 | take(std::uint32_t{}, size - 4));
  }
  return std::ranges::all_of(text, [&, to = at_](char c) mutable {
    *to++ = c;
    return kPlain[static_cast<unsigned char>(c)];
  });
}

char* JsonLine::put_escaped(char* at, std::string_view text) {
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
      at = put_character(at, from, end);
    }
  }
  return at;
}

}  // namespace karmad
