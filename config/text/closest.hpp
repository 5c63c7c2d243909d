#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace karmad {

/// Number of letters to insert, remove, replace or swap with a neighbour to turn one word into the
/// other. Cost: the product of the lengths.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The known word that a misspelt one probably means; nothing if none is similar.
std::optional<std::string_view> closest(std::string_view word,
                                        std::span<const std::string_view> known);

/// `; did you mean 'x'?`, or empty if no known word is similar.
std::string suggestion(std::string_view word, std::span<const std::string_view> known);

/// The first `most` names, and how many more there are: `a, b and 3 more`.
template <class Names>
std::string some_of(const Names& names, std::size_t most, std::string_view between = ", ") {
  std::string some;
  for (const auto& name : std::span(names).first(std::min(names.size(), most)))
    some.append(some.empty() ? "" : between).append(name);
  if (names.size() > most) some += fmt::format(" and {} more", names.size() - most);
  return some;
}

}  // namespace karmad
