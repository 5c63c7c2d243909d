#pragma once

#include <cstdint>
#include <optional>

namespace karmad {

/// Whether a set has so much load that hedges would worsen it (`hedge_max_load_percent`).
///
/// `median` is the current load of the set's median mirror, `usual` its slow average
/// (agent/stats/load_baseline.hpp). The median, not the sum: a single stalled mirror collects
/// queries, and hedging is for just that case, while overload appears on most mirrors. Hedging
/// stops above `percent` of `usual`, but never below kQuiet, where a few queries make no
/// difference. A lasting load becomes usual; then only the retry budget limits hedges. False
/// without a usual load or with 0 percent.
constexpr bool overloaded_for_hedging(std::uint32_t median, std::optional<double> usual,
                                      unsigned percent) {
  constexpr std::uint32_t kQuiet = 4;
  if (percent == 0 || !usual || median <= kQuiet) return false;
  return static_cast<double>(median) * 100 > *usual * percent;
}

}  // namespace karmad
