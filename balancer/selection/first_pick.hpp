#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "balancer/selection/selection.hpp"

namespace karmad {

/// A query that is about to pick a mirror of a shard. The worker is the caller's.
struct PickSubject {
  const Topology& topology;
  const Table& table;
  const Shard& shard;
  const Selection& selection;
  Worker& worker;
};

/// The criteria by which the mirror of its first attempt is picked now, by the same MirrorChoice as
/// in a ShardRequest. Takes nothing. `min_generation`: the newest data the client has seen. The
/// criteria refer to the selection.
SelectionCriteria first_pick_criteria(const PickSubject& of,
                                      std::optional<std::uint64_t> min_generation = std::nullopt);

/// For each mirror the probability that the next search goes there, probes aside. If all suitable
/// mirrors are full, the probability once they have free slots. All 0 if none may be asked.
std::vector<double> first_pick_shares(const PickSubject& of);

}  // namespace karmad
