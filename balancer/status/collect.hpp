#pragma once

#include "balancer/core/worker.hpp"
#include "balancer/status/snapshot.hpp"

namespace karmad {

/// Reads everything the status tells: the topology of this worker, the counters of all. No
/// worker has to wait; the numbers are those of about the same moment.
Snapshot collect(const Worker& worker);

}  // namespace karmad
