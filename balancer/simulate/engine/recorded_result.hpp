#pragma once

#include "balancer/simulate/scenario/scenario.hpp"
#include "balancer/simulate/simulation_result.hpp"

namespace karmad {

/// What the access log of a scenario tells about its own requests, each at one shard: from the
/// start of its first attempt to its answer. All attempts after the first count as retries, since
/// the log does not tell hedges apart. The strategy is kRecordedName.
SimulationResult recorded_result(const Scenario& scenario);

}  // namespace karmad
