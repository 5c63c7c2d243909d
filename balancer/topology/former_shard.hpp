#pragma once

#include <memory>
#include <vector>

#include "agent/health/former_places.hpp"
#include "balancer/topology/topology.hpp"

namespace karmad {

using Agents = std::vector<std::shared_ptr<Agent>>;  ///< of a shard, in the order of its mirrors

/// The shard before a reload that a new shard replaces, and the mirrors that both have: those at
/// the same agent with the same names of the table.
struct FormerShard {
  std::shared_ptr<const Shard> shard;  ///< null: no mirror existed before
  FormerPlaces places;
};

/// The positions of the shard's mirrors in that shard.
FormerShard former_shard(std::shared_ptr<const Shard> before, const Agents& agents,
                         const ShardSettings& settings);
/// Chooses the shard of the former table, if any, with most mirrors in common.
FormerShard former_shard(const Table* before, const Agents& agents, const ShardSettings& settings);

}  // namespace karmad
