#pragma once

#include <string>
#include <string_view>

namespace karmad {

/// A stranger's word as an error shows it: in quotes, cut when long, control characters as `?`.
std::string quoted(std::string_view word);

bool has_control_characters(std::string_view word);
bool is_utf8(std::string_view text);

/// Hands each part between separators to `take`, until one is refused; whether all were taken. An
/// empty text has one part.
template <class Take>
bool each_part(std::string_view text, char separator, Take take) {
  while (true) {
    const auto end = text.find(separator);
    if (!take(text.substr(0, end))) return false;
    if (end == std::string_view::npos) return true;
    text.remove_prefix(end + 1);
  }
}

}  // namespace karmad
