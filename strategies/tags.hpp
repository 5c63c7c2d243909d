#pragma once

#include <compare>
#include <string>
#include <vector>

namespace karmad {

/// A tag of a mirror; compared byte by byte (SS-061).
struct Tag {
  std::string name;
  std::string value;
  auto operator<=>(const Tag&) const = default;
};

/// Tags, sorted and without duplicates.
using Tags = std::vector<Tag>;

/// Whether the mirror has all `wanted` tags; true if none is wanted (SS-061).
inline bool has_all(const Tags& tags, const Tags& wanted) {
  if (wanted.size() > tags.size()) return false;
  auto have = tags.begin();
  for (const auto& tag : wanted) {
    // std::includes would compare each pair twice.
    auto order = std::strong_ordering::less;
    while (have != tags.end() && (order = *have <=> tag) < 0) ++have;
    if (have == tags.end() || order > 0) return false;
  }
  return true;
}

}  // namespace karmad
