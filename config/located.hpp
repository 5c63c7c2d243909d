#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace karmad {

/// Where a value stands in the configuration. Line 0: nowhere, it is a default.
struct Place {
  std::string file;
  unsigned line = 0;
  unsigned column = 0;

  bool operator==(const Place&) const = default;
};

/// A setting together with the place that gave it.
template <class T>
struct Located {
  T value{};
  Place at{};
};

/// Something a reader of the configuration must be told, with the place it is about.
struct Problem {
  Place at;
  std::string message;
  /// Of a notice: `warning` is about something that the operator expects and does not get.
  enum class Severity : std::uint8_t { notice, warning } severity = Severity::notice;
};
using Problems = std::vector<Problem>;

/// A reader may stop once it has collected this many problems.
inline constexpr std::size_t kEnoughProblems = 100;

/// `file:line:column`, or `default` for a place that is nowhere.
std::string text(const Place& at);

/// `file:line:column: message`; only the message when the problem stands nowhere. A warning says so
/// before its message.
std::string text(const Problem& problem);

/// A piece of the user's text in quotes for a message: shortened to 60 bytes, with a `?` for
/// every control character.
std::string in_quotes(std::string_view text);

}  // namespace karmad
