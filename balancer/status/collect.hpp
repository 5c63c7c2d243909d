#pragma once

#include "balancer/core/worker.hpp"
#include "balancer/status/snapshot.hpp"

namespace karmad {

/// Reads all data of the status: the topology of this worker and the counters of all. No worker
/// waits; the numbers are from about the same moment.
Snapshot collect(const Worker& worker);

}  // namespace karmad
