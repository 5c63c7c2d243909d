#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace karmad {

/// The position of a value in the configuration. Line 0: none, it is a default. Column 0: it is not
/// from a file, and `file` tells where from.
struct Place {
  std::string file;
  unsigned line = 0;
  unsigned column = 0;

  bool operator==(const Place&) const = default;
};

/// A setting and its position.
template <class T>
struct Located {
  T value{};
  Place at{};
  std::string_view key{};  ///< as it is written there, which may be another name of the setting
};

/// A message for the author of the configuration, with its position.
struct Problem {
  Place at;
  std::string message;
  /// Of a notice. `warning`: a setting does not have the expected effect.
  enum class Severity : std::uint8_t { notice, warning } severity = Severity::notice;

  bool operator==(const Problem&) const = default;
};
using Problems = std::vector<Problem>;

/// Number of problems after which a reader may stop.
inline constexpr std::size_t kEnoughProblems = 100;

/// `file:line:column`; `default` without a position; only `file` without a column.
std::string text(const Place& at);

/// `file:line:column: message`; without a position only the message. A warning is marked before its
/// message.
std::string text(const Problem& problem);

/// A part of a text that others wrote, for a message: at most `longest` bytes and the rest of a
/// character of UTF-8 that begins within them, with a `?` for every control character.
std::string cleaned(std::string_view text, std::size_t longest = 80);
/// The same in quotes.
std::string in_quotes(std::string_view text, std::size_t longest = 60);
/// The first character of a text, in quotes.
std::string first_in_quotes(std::string_view text);

/// Configuration text in which every character has its original position, also after lines were
/// joined, comments removed and variables substituted.
class SourceText {
 public:
  SourceText() = default;
  explicit SourceText(std::string file) : file_(std::move(file)) {}

  /// plain: may be syntax (such as a brace); literal: is always content; unknown: stands for the
  /// value of an environment variable that is not set, which was reported.
  enum class Role : std::uint8_t { plain, literal, unknown };

  /// Appends a character with its original position.
  void add(char c, unsigned line, unsigned column, Role role = Role::plain);
  /// Appends text that replaces the text at `line`:`column`; all of it has that position.
  void add_substituted(std::string_view text, unsigned line, unsigned column);

  const std::string& text() const { return text_; }
  std::size_t size() const { return text_.size(); }
  /// The original position of the character at `offset`; one past the end is allowed.
  Place place(std::size_t offset) const;
  /// True for substituted and escaped characters: they never open or close a section.
  bool is_literal(std::size_t offset) const;
  bool is_unknown(std::size_t offset) const;
  /// Whether any character is unknown: then the text must not be judged.
  bool has_unknown() const;
  /// The part [begin, end).
  SourceText slice(std::size_t begin, std::size_t end) const;

 private:
  struct Run {
    std::size_t offset;  // of its first character
    unsigned line;
    unsigned column;
    bool advances;  // consecutive characters are in consecutive columns
    Role role;
  };
  const Run* run_at(std::size_t offset) const;

  std::string file_;
  std::string text_;
  std::vector<Run> runs_;
};

// Of ASCII.
constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
constexpr bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
constexpr char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
}

/// Removes white space at both ends.
SourceText trimmed(const SourceText& source);
std::string_view trimmed(std::string_view text, std::string_view blanks = " \t\r\n\v\f");
std::string lower(std::string_view text);
/// `1 table`, `2 tables`.
std::string counted_noun(std::size_t count, std::string_view noun);

/// Takes what precedes the next `end` off `rest`, and that byte.
constexpr std::string_view take_until(std::string_view& rest, char end) {
  const auto part = rest.substr(0, rest.find(end));
  rest.remove_prefix(std::min(part.size() + 1, rest.size()));
  return part;
}

}  // namespace karmad
