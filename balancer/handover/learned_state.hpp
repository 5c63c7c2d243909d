#pragma once

#include "balancer/admission/admission.hpp"
#include "balancer/handover/learned.hpp"
#include "balancer/topology/topology.hpp"

namespace karmad {

/// Reads what this process has learned. Worker 0 only.
Learned collect_learned(const Topology& topology, const Admission& admission, TimePoint now);

/// Continues with what a former process had learned of the same mirrors: those at the same address
/// with the same names in a table of the same name. Everything else starts anew. Before the workers
/// run, after the limits of the topology were applied. Returns the number of mirrors restored.
std::size_t restore_learned(const Learned& learned, const Topology& topology, Admission& admission,
                            TimePoint now);

/// Shards that had a mirror in the former process and have none here, as `table t, shard 1: why`:
/// no mirror was found, or no name has an address. Tables and shards that the configuration has not
/// any more do not count; a table with `discovery` has its shards from its source.
std::vector<std::string> shards_lost(const Learned& learned, const Topology& topology,
                                     const Settings& settings);

}  // namespace karmad
