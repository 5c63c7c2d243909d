#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace karmad {

/// How many letters must be inserted, dropped, replaced or swapped with their neighbour to turn one
/// word into the other. Cost: the product of the lengths.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The known word a misspelt one most likely stands for; nothing when none is near.
std::optional<std::string_view> closest(std::string_view word,
                                        std::span<const std::string_view> known);

/// `; did you mean 'x'?`, or empty when no known word is near.
std::string suggestion(std::string_view word, std::span<const std::string_view> known);

}  // namespace karmad
