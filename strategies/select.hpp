#pragma once

#include <cstddef>
#include <optional>

#include "strategies/strategy.hpp"

namespace karmad {

/// Picks the mirror for the next attempt: of those not in `avoided` (tried already by this query)
/// while there are any, else of all. Nothing only when the set is empty. Allocates nothing;
/// any thread may call it with a RandomSource of its own.
std::optional<std::size_t> select(MirrorViews mirrors, Candidates avoided, const Strategy& strategy,
                                  RandomSource& random);

}  // namespace karmad
