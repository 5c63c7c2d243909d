#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace karmad {

/// Appends `text` as a JSON string with its quotes. Bytes that are not UTF-8 become U+FFFD, so that
/// any text of an agent can be part of an answer.
void append_json_quoted(std::string& out, std::string_view text);

/// The same without the quotes, for texts put together from parts.
void append_json_escaped(std::string& out, std::string_view text);

/// The text with every byte that is not part of valid UTF-8 replaced by U+FFFD.
std::string clean_utf8(std::string_view text);

/// Length of the UTF-8 sequence at `at`; 0 if it is invalid (overlong forms, surrogates and code
/// points beyond U+10FFFF included).
std::size_t utf8_length(std::string_view text, std::size_t at);

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

/// The inside of a JSON string with its escapes resolved.
std::string json_unescaped(std::string_view raw);

}  // namespace karmad
