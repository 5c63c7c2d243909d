#pragma once

#include "balancer/topology/topology.hpp"
#include "strategies/random_source.hpp"

namespace karmad {

/// Looks for outliers among the mirrors of a shard (OutlierEjection), and starts those slowly that
/// are admitted again. Nothing without `outlier`. Worker 0 calls it about ten times a second.
void watch_outliers(const Shard& shard, TimePoint now, RandomSource& random);

}  // namespace karmad
