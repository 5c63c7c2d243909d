#pragma once

#include "balancer/status/snapshot.hpp"
#include "balancer/worker.hpp"

namespace karmad {

/// Reads everything the status tells: the topology of this worker, the counters of all. Nobody is
/// made to wait; the numbers are those of about the same moment.
Snapshot collect(const Worker& worker);

}  // namespace karmad
