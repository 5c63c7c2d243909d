#include "agent/dialect/kinds/paths.hpp"

#include <algorithm>

#include "agent/transport/http/url_encoding.hpp"

namespace karmad {

namespace {

bool is_in_name(char c) {
  constexpr std::string_view kOthers = "_-.,*";
  const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return letter || (c >= '0' && c <= '9') || kOthers.find(c) != kOthers.npos;
}

bool covers(std::string_view pattern, std::string_view known) {
  while (!pattern.empty() && !known.empty()) {
    auto segment = take_segment(pattern);
    const auto wanted = take_segment(known);
    const bool any = wanted.starts_with('{');
    if (segment.ends_with('*')) {
      segment.remove_suffix(1);
      return any ? !segment.starts_with('_') : wanted.starts_with(segment);
    }
    if (any ? segment.starts_with('_') : segment != wanted) return false;
  }
  return known.empty();
}

}  // namespace

std::string_view take_segment(std::string_view& path) {
  path.remove_prefix(1);  // the slash
  const auto segment = path.substr(0, path.find('/'));
  path.remove_prefix(segment.size());
  return segment;
}

bool matches_pattern(std::string_view pattern, std::string_view path) {
  // Most paths are told from most patterns by the last byte.
  if (!pattern.empty() && pattern.back() != '}' && !path.ends_with(pattern.back())) return false;
  while (pattern.starts_with('/') && path.starts_with('/')) {
    const auto expected = take_segment(pattern);
    const auto segment = take_segment(path);
    const bool any = expected.starts_with('{');
    if (any ? segment.empty() : segment != expected) return false;
  }
  return pattern.empty() && path.empty();
}

std::string_view pattern_segment(std::string_view pattern, std::string_view path,
                                 std::string_view segment) {
  while (!pattern.empty() && !path.empty()) {
    const bool here = take_segment(pattern) == segment;
    const auto found = take_segment(path);
    if (here) return found;
  }
  return {};
}

std::optional<std::string> decoded_tables(std::string_view segment) {
  if (segment.empty() || segment.size() > kMaxTableSegment) return std::nullopt;
  std::string text;
  text.reserve(segment.size());
  for (std::size_t at = 0; at < segment.size(); ++at) {
    char c = segment[at];
    if (c == '%') {
      const auto byte = escaped_byte(segment.substr(at));
      if (byte < 0) return std::nullopt;
      c = static_cast<char>(byte);
      at += 2;
    }
    if (!is_in_name(c)) return std::nullopt;
    text.push_back(c);
  }
  return text;
}

std::string_view update_path_in(std::string_view pattern) {
  const auto found = std::ranges::find_if(
      kUpdatePaths, [pattern](std::string_view known) { return covers(pattern, known); });
  return found == kUpdatePaths.end() ? std::string_view() : *found;
}

}  // namespace karmad
