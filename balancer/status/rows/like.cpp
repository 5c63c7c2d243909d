#include "balancer/status/rows/like.hpp"

#include <cstddef>
#include <utility>
#include <vector>

#include "config/text/source_text.hpp"

namespace karmad {
namespace {

/// Number of pattern bytes at `at` that match this byte of text; 0: no match.
std::size_t match_one(std::string_view pattern, std::size_t at, char c) {
  if (at == pattern.size()) return 0;
  if (pattern[at] == '_') return 1;
  const bool escaped = pattern[at] == '\\' && at + 1 < pattern.size();
  const char wanted = pattern[escaped ? at + 1 : at];
  if (lower(wanted) != lower(c)) return 0;
  return escaped ? 2 : 1;
}

}  // namespace

bool is_like(std::string_view text, std::string_view pattern) {
  constexpr auto kNone = std::string_view::npos;
  std::size_t at = 0;         // in the pattern
  std::size_t after = kNone;  // in the pattern, after the last `%`
  std::size_t resume = 0;     // in the text, where that `%` currently ends
  for (std::size_t i = 0; i < text.size();) {
    if (at < pattern.size() && pattern[at] == '%') {
      after = ++at;
      resume = i;
    } else if (const auto used = match_one(pattern, at, text[i]); used > 0) {
      at += used;
      ++i;
    } else if (after != kNone) {  // only the last `%` must be extended: earlier ones match already
      at = after;
      i = ++resume;
    } else {
      return false;
    }
  }
  while (at < pattern.size() && pattern[at] == '%') ++at;
  return at == pattern.size();
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
