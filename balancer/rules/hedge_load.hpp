#pragma once

#include <cstdint>
#include <optional>

namespace karmad {

/// Whether a set is so busy that hedges would only add to it (`hedge_max_load_percent`).
///
/// `median` is what the median mirror of the set works on now, `usual` its slow average
/// (agent/stats/usual_load.hpp). Not the sum: one mirror that stalls gathers queries, and hedging
/// is for just that; overload shows at most of the mirrors. Above `percent` of the usual hedging
/// stops, but never below kQuiet, where a few queries more or less mean nothing. What lasts becomes
/// usual: then the retry budget alone keeps hedges in bounds. No usual load yet, or 0 percent: not
/// overloaded.
constexpr bool overloaded_for_hedging(std::uint32_t median, std::optional<double> usual,
                                      unsigned percent) {
  constexpr std::uint32_t kQuiet = 4;
  if (percent == 0 || !usual || median <= kQuiet) return false;
  return static_cast<double>(median) * 100 > *usual * percent;
}

}  // namespace karmad
