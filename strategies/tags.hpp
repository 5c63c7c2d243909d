#pragma once

#include <compare>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
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

/// Limits; more is an error.
inline constexpr std::size_t kMostTagSets = 64;
inline constexpr std::size_t kMostTags = 32;  ///< in one set, or of one mirror

/// Inserts a tag in order; returns an error, or nothing. A name may occur once per set.
std::optional<std::string> add_tag(Tags& tags, std::string_view name, std::string_view value);

/// Reads one tag set, `name:value` pairs with `separator` between them (`;` in an agent line).
std::expected<Tags, std::string> parse_tags(std::string_view text, char separator);

/// Reads tag sets in the short form of a read preference: pairs separated by `,`, sets by `|`; an
/// empty set matches every mirror.
std::expected<std::vector<Tags>, std::string> parse_tag_sets(std::string_view text);

std::string text(const Tags& tags);  ///< as in the short form
std::string text(const std::vector<Tags>& tag_sets);

}  // namespace karmad
