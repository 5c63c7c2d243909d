#include "agent/json/json_text.hpp"

#include <charconv>
#include <cstdint>
#include <optional>

namespace karmad {

namespace {

std::optional<std::uint32_t> four_digits(const char* at, const char* end) {
  std::uint32_t value = 0;
  if (end - at < 4 || std::from_chars(at, at + 4, value, 16).ptr != at + 4) return std::nullopt;
  return value;
}

/// Whether the unit is a surrogate of UTF-16 with these upper bits: 0xD800 or 0xDC00.
bool is_surrogate(std::uint32_t unit, std::uint32_t upper) {
  return (unit & 0xFC00) == upper;
}

}  // namespace

std::size_t utf8_length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
  const auto first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() - at < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  return may_follow(first, byte(1)) ? length : 0;
}

std::string clean_utf8(std::string_view text) {
  std::string clean;
  clean.reserve(text.size());
  while (!text.empty()) {
    const auto length = utf8_length(text, 0);
    clean += length > 0 ? text.substr(0, length) : std::string_view{"\xEF\xBF\xBD"};
    text.remove_prefix(length > 0 ? length : 1);
  }
  return clean;
}

std::string_view shortened_utf8(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  const auto continues = [&](std::size_t at) {
    return (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80;
  };
  auto end = most;
  while (end > 0 && most - end < 3 && continues(end)) --end;
  return text.substr(0, end);
}

int JsonText::next() {
  if (pending_count_ != 0) return pending_[--pending_count_];
  if (at_ == end_) return -1;
  const auto c = static_cast<unsigned char>(*at_++);
  if (c != '\\' || at_ == end_) return c;
  constexpr std::string_view kShort = "ntrbf\"\\/";
  if (const auto which = kShort.find(*at_); which != kShort.npos) {
    ++at_;
    return "\n\t\r\b\f\"\\/"[which];
  }
  if (*at_ != 'u') return c;
  const auto unit = four_digits(at_ + 1, end_);
  if (!unit) return c;
  at_ += 5;
  auto code = *unit;
  if (is_surrogate(code, 0xD800) && end_ - at_ >= 6 && at_[0] == '\\' && at_[1] == 'u') {
    const auto low = four_digits(at_ + 2, end_);
    if (low && is_surrogate(*low, 0xDC00)) {
      at_ += 6;
      code = 0x10000 + ((code - 0xD800) << 10) + (*low - 0xDC00);
    }
  }
  if (code >= 0xD800 && code < 0xE000) code = 0xFFFD;
  if (code < 0x80) return static_cast<int>(code);
  const auto tail = [](std::uint32_t bits) {
    return static_cast<unsigned char>(0x80 | (bits & 63));
  };
  pending_[pending_count_++] = tail(code);
  if (code < 0x800) return static_cast<int>(0xC0 | (code >> 6));
  pending_[pending_count_++] = tail(code >> 6);
  if (code < 0x10000) return static_cast<int>(0xE0 | (code >> 12));
  pending_[pending_count_++] = tail(code >> 12);
  return static_cast<int>(0xF0 | (code >> 18));
}

bool json_says(std::string_view raw, std::string_view wanted) {
  if (raw.find('\\') == raw.npos) return raw == wanted;
  JsonText text(raw);
  for (const char c : wanted)
    if (text.next() != static_cast<unsigned char>(c)) return false;
  return text.next() < 0;
}

std::string json_unescaped(std::string_view raw) {
  std::string text;
  text.reserve(raw.size());
  JsonText bytes(raw);
  for (int c = bytes.next(); c >= 0; c = bytes.next()) text += static_cast<char>(c);
  return text;
}

}  // namespace karmad
