#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace karmad {

/// The text with every byte that is not part of valid UTF-8 replaced by U+FFFD.
std::string clean_utf8(std::string_view text);

/// The beginning of a text that is at most `most` bytes long and does not end within a UTF-8
/// character. By default short enough for a message about a request.
std::string_view shortened_utf8(std::string_view text, std::size_t most = 64);

/// Length of the UTF-8 sequence at `at`; 0 if it is invalid (overlong forms, surrogates and code
/// points beyond U+10FFFF included).
std::size_t utf8_length(std::string_view text, std::size_t at);

/// Whether a sequence of UTF-8 may begin with these bytes, of which the second continues it.
constexpr bool may_follow(unsigned char first, unsigned char second) {
  if (first == 0xE0) return second >= 0xA0;
  if (first == 0xED) return second <= 0x9F;
  if (first == 0xF0) return second >= 0x90;
  return first != 0xF4 || second <= 0x8F;
}

/// Reads the inside of a JSON string byte by byte, escapes resolved to UTF-8, without a copy.
class JsonText {
 public:
  explicit JsonText(std::string_view raw) : at_(raw.data()), end_(raw.data() + raw.size()) {}

  /// The next byte, or -1 at the end. An invalid escape yields the backslash itself.
  int next();

 private:
  const char* at_;
  const char* end_;
  unsigned char pending_[3] = {};
  unsigned pending_count_ = 0;
};

/// Whether the inside of a JSON string says `wanted`.
bool json_says(std::string_view raw, std::string_view wanted);

/// The inside of a JSON string with its escapes resolved.
std::string json_unescaped(std::string_view raw);

}  // namespace karmad
