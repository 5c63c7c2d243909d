#include "balancer/status/rows/like.hpp"

#include <cstddef>
#include <utility>
#include <vector>

#include "config/text/source_text.hpp"
#include "config/text/wildcard.hpp"

namespace karmad {
namespace {

/// Number of bytes at the beginning of a pattern that match this byte of text; 0: no match.
std::size_t match_one(std::string_view pattern, char c) {
  if (pattern[0] == '_') return 1;
  const bool escaped = pattern[0] == '\\' && pattern.size() > 1;
  if (lower(pattern[escaped ? 1 : 0]) != lower(c)) return 0;
  return escaped ? 2 : 1;
}

}  // namespace

bool is_like(std::string_view text, std::string_view pattern) {
  return matches_wildcard(text, pattern, '%', match_one);
}

void keep_like(ResultSet& set, const std::optional<std::string>& pattern) {
  if (!pattern || set.columns.empty()) return;
  std::vector<std::string_view> kept;
  for (std::size_t r = 0; r < set.count; ++r)
    if (const auto row = set.row(r); is_like(cell_text(row.front()), *pattern))
      kept.insert(kept.end(), row.begin(), row.end());
  set.cells = std::move(kept);
  set.count = set.cells.size() / set.columns.size();
}

}  // namespace karmad
