#include "agent/dialect/update_paths.hpp"

#include <algorithm>

#include "agent/dialect/path_pattern.hpp"

namespace karmad {
namespace {

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

std::string_view update_path_in(std::string_view pattern) {
  const auto found = std::ranges::find_if(
      kUpdatePaths, [pattern](std::string_view known) { return covers(pattern, known); });
  return found == kUpdatePaths.end() ? std::string_view() : *found;
}

}  // namespace karmad
