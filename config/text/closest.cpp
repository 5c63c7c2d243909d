#include "config/text/closest.hpp"

#include <vector>

namespace karmad {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> older(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::swap(older, last);
    std::swap(last, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const auto replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], older[j - 2] + 1);
    }
  }
  return row[b.size()];
}

std::optional<std::string_view> closest(std::string_view word,
                                        std::span<const std::string_view> known) {
  constexpr std::size_t kLongest = 64;  // no key is longer; bounds the cost
  if (word.size() > kLongest) return std::nullopt;
  std::optional<std::string_view> best;
  auto fewest = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const auto candidate : known) {
    const auto distance = edit_distance(word, candidate);
    if (distance >= fewest || distance >= candidate.size()) continue;
    fewest = distance;
    best = candidate;
  }
  return best;
}

std::string suggestion(std::string_view word, std::span<const std::string_view> known) {
  const auto best = closest(word, known);
  return best ? fmt::format("; did you mean '{}'?", *best) : std::string();
}

}  // namespace karmad
