#pragma once

#include <algorithm>
#include <cstdint>

#include "strategies/time.hpp"

namespace karmad {

/// Exponential waits: `base`, doubled with every step, at most `cap`.
struct Doubling {
  Micros base{};
  Micros cap{};

  /// The wait of step 0, 1, …
  constexpr Micros step(unsigned number) const {
    constexpr unsigned most_doublings = 20;  // no overflow, even for a day
    return std::min(cap,
                    std::min(base, cap) * (Micros::rep{1} << std::min(number, most_doublings)));
  }
};

/// How long to wait before retry `attempt` (1, 2, …). `jitter` in [0, 1) scales the whole wait, so
/// that refused clients do not return together (BP-007; the exponent is attempt − 1, X-3).
constexpr Micros backoff(const Doubling& limits, unsigned attempt, double jitter) {
  const auto longest = limits.step(attempt == 0 ? 0 : attempt - 1);
  return Micros{static_cast<std::int64_t>(jitter * static_cast<double>(longest.count()))};
}

}  // namespace karmad
