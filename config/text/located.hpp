#pragma once

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

}  // namespace karmad
