#pragma once

#include "balancer/core/worker.hpp"
#include "balancer/status/snapshot.hpp"

namespace karmad {

/// Reads the data of the status, except the histories of agents: the topology of this worker and
/// the counters of all. No worker waits; the numbers are from about the same moment.
Snapshot collect(Worker& worker);

/// Adds the histories of all agents: their last periods and latencies. `topology` is the one that
/// the snapshot was collected from. Any thread: with many agents this is most of the work.
void add_histories(Snapshot& snapshot, const Topology& topology);

}  // namespace karmad
