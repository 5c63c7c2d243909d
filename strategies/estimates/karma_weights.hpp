#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "config/settings/settings.hpp"
#include "strategies/time.hpp"

namespace karmad {

struct KarmaRules {
  /// Multiply by the current weight (HA-006), or approach the speeds of the last period (HA-028).
  bool compound = kDefaultSettings.karma_compound.value;
  double floor = 0.01;  ///< lowest weight, relative to an even share 1/N (HA-020)
  bool operator==(const KarmaRules&) const = default;
};

/// Computes the weights of the next period in place. `means[i]` is the mean query time of mirror i
/// in the closed period, failed attempts included (see failure_floor), empty without queries. The
/// new weights sum to 1. The old ones may have any scale; an invalid one (0, negative, NaN) counts
/// as an even share.
///
/// 1. Mirrors without a measurement keep their share; the measured ones divide the rest. Without
/// any
///    measurement nothing changes (HA-021).
/// 2. Measured mirrors, compounding: weight × 1/mean (HA-006). Else the target is 1/mean divided
///    by the sum, and the new weight is the geometric mean of the old one and the target, at
///    most four times the old one or a quarter of it (HA-028): where the mean depends on the share,
///    a full step goes too far and comes back for ever. From equal weights, as at the start, the
///    step is a full one. A mean of 0 counts as 1 µs.
/// 3. None of these falls below floor/N (HA-020); applied before the measured share is restored.
/// 4. A mirror that lost its share in a stall would recover late, and with compounding never: with
///    equal times step 2 changes nothing there. Therefore a mirror below a tenth of an even share,
///    whose mean is at most twice the others' weighted mean, restarts in step 2 with their average
///    weight.
void next_weights(std::span<double> weights, std::span<const std::optional<Micros>> means,
                  const KarmaRules& rules);

/// The rules with a floor that gives every mirror about four searches in a period with as many
/// `searches` as the last one, but at most a tenth of an even share: without a sample a mirror
/// that is fast again would keep its low weight.
KarmaRules with_samples(KarmaRules rules, std::uint64_t searches, std::size_t mirrors);

/// The lowest time that a failed attempt counts with in the mean of its mirror: the upper median of
/// the mirrors' means, so that a fast failure never looks fast. 0 if none was measured. At most 64
/// mirrors; allocates nothing.
Micros failure_floor(std::span<const std::optional<Micros>> means);

}  // namespace karmad
