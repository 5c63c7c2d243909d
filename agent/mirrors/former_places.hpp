#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace karmad {

/// Of each mirror of a set: its place in the set that stood there before a reload; none: it is new.
using FormerPlaces = std::vector<std::optional<std::size_t>>;

/// Calls `take(now, before)` for each mirror that was there before.
template <class Take>
void for_each_former(const FormerPlaces& places, Take take) {
  for (std::size_t i = 0; i < places.size(); ++i)
    if (places[i]) take(i, *places[i]);
}

}  // namespace karmad
