#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace karmad {

/// For each mirror of a set, its position in the set it had before a reload; none: it is new.
using FormerPlaces = std::vector<std::optional<std::size_t>>;

/// Calls `take(now, before)` for each mirror that existed before, with both positions.
template <class Take>
void for_each_former(const FormerPlaces& places, Take take) {
  for (std::size_t i = 0; i < places.size(); ++i)
    if (places[i]) take(i, *places[i]);
}

}  // namespace karmad
