#pragma once

#include <memory>
#include <vector>

#include "agent/mirrors/former_places.hpp"
#include "balancer/topology/topology.hpp"

namespace karmad {

using Agents = std::vector<std::shared_ptr<Agent>>;  ///< of a shard, in the order of its mirrors

/// What stood before a reload where a shard stands now, as far as its mirrors are the same: at the
/// same agent, under the same names of the table.
struct FormerShard {
  std::shared_ptr<const Shard> shard;  ///< null: none of them was there
  FormerPlaces places;
};

/// The places of the shard's mirrors in that shard.
FormerShard former_shard(std::shared_ptr<const Shard> before, const Agents& agents,
                         const ShardSettings& settings);
/// Of the shards of the former table, if there was one, the one with most mirrors in common.
FormerShard former_shard(const Table* before, const Agents& agents, const ShardSettings& settings);

}  // namespace karmad
