#pragma once

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

}  // namespace karmad
