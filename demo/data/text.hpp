#pragma once

#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace karmad::demo {

struct Token {
  std::string word;       ///< in lower case
  std::size_t begin = 0;  ///< its bytes in the text
  std::size_t end = 0;
};

/// The words of a text: runs of ASCII letters, digits and bytes beyond ASCII.
std::vector<Token> tokens(std::string_view text);
std::vector<std::string> words(std::string_view text);

/// `text` with ASCII letters in lower case.
std::string lower_case(std::string_view text);

/// `text` in upper or lower case, also Latin, Greek and Cyrillic letters.
std::string folded(std::string_view text, bool upper);

/// Insertions, deletions and replacements of bytes between two words.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// Compares without regard to the case of ASCII letters, otherwise by bytes (libc_ci of the search
/// server in the C locale): negative, zero or positive.
int collate(std::string_view a, std::string_view b);

/// Whether `text` fits a pattern of `*` (any run) and `?` (one byte).
bool matches_pattern(std::string_view pattern, std::string_view text);

/// Appends `text` as a JSON string with its quotes. The demo agent has its own JSON writer, because
/// it links nothing of karmad.
void append_quoted(std::string& out, std::string_view text);
std::string json_string(std::string_view text);

/// `text` as a number; nothing if it has other characters or does not fit.
template <class T>
std::optional<T> number_of(std::string_view text) {
  T out{};
  const auto* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, out);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return out;
}

/// A float as answers show it: six decimals, eight of a very small one.
std::string float_text(double number);

std::string to_base64(std::string_view bytes);
/// Nothing for text that is not base64 with its padding.
std::optional<std::string> from_base64(std::string_view text);

/// Decodes `%41` and `+` of a query string.
std::string url_decoded(std::string_view text);

}  // namespace karmad::demo
