#pragma once

#include <rapidjson/encodings.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/stringbuffer.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "config/text/source_text.hpp"

namespace karmad {

/// An untrusted text for an error message: in quotes, shortened, control characters as `?`.
inline std::string quoted(std::string_view word) {
  return in_quotes(word, 64);
}

inline bool has_control_characters(std::string_view word) {
  return std::ranges::any_of(
      word, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

inline bool is_utf8(std::string_view text) {
  rapidjson::MemoryStream in(text.data(), text.size());
  rapidjson::StringBuffer ignored;
  while (in.Tell() < text.size())
    if (!rapidjson::UTF8<>::Validate(in, ignored)) return false;
  return true;
}

/// Calls `take` with each part between separators until it returns false; returns whether all parts
/// were accepted. An empty text has one part.
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
