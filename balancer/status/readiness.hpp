#pragma once

#include <string>
#include <utility>

#include "balancer/core/worker.hpp"

namespace karmad {

/// Whether queries can be answered, as `worker` sees it: not draining, and every shard of every
/// table has a mirror that answered and is not dead; where mirrors are told apart, one that suits a
/// search which gives no read preference. The body names what is missing.
std::pair<bool, std::string> readiness(const Topology& topology, const Process& process,
                                       unsigned worker);

/// Answered at least once (unless nothing pings) and not dead (HA-022).
bool live(const Agent& agent, const InstanceSettings& settings);

}  // namespace karmad
