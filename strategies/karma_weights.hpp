#pragma once

#include <optional>
#include <span>

#include "config/settings.hpp"
#include "strategies/time.hpp"

namespace karmad {

struct KarmaRules {
  /// Multiply by the weight so far (HA-006), or not.
  bool compound = kDefaultSettings.karma_compound.value;
  double floor = 0.01;  ///< least weight, as a part of an even share 1/N (HA-020)
  bool operator==(const KarmaRules&) const = default;
};

/// Turns the weights of a mirror set into those of the next period. `means[i]` is mirror i's mean
/// query time in the period just closed, failed attempts included (see failure_floor), empty when
/// it had none. Afterwards the weights sum to 1; they may come in at any scale, and one that is no
/// weight (0, negative, NaN) counts as an even share.
///
/// 1. A mirror without a measurement keeps its share; the measured ones divide among themselves
///    what they had together. None measured: nothing changes (HA-021).
/// 2. Measured ones: weight so far × 1/mean, or 1/mean alone (HA-006, X-14). A mean of 0 counts as
///    1 µs.
/// 3. None of them falls below floor/N (HA-020), applied before the measured share is restored.
/// 4. Compounding only: memory alone starves no mirror. Equal times change nothing in step 2, so a
///    mirror that lost its share to a stall would never get it back. Hence a mirror below a tenth
///    of an even share, whose mean is within twice that of the others (their own weights counted),
///    starts over in step 2 from their average weight, as every mirror did at the start.
void next_weights(std::span<double> weights, std::span<const std::optional<Micros>> means,
                  const KarmaRules& rules);

/// The least time with which a failed attempt enters the mean of its mirror: the upper median of
/// the mirrors' means, so that failing fast never looks fast. 0 when none was measured. At most
/// 64 mirrors; allocates nothing.
Micros failure_floor(std::span<const std::optional<Micros>> means);

}  // namespace karmad
