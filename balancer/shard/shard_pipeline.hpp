#pragma once

#include "balancer/shard/shard_part.hpp"

namespace karmad {

/// Everything between a part of a query that goes to one shard and how it ended. May be called
/// again for the same part (a reply that could not be merged).
Task<void> pass_shard_pipeline(ShardCall& call);

}  // namespace karmad
