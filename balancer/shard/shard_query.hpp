#pragma once

#include <string>

#include "balancer/shard/shard_part.hpp"

namespace karmad {

/// To be called once for each part, before it is asked for the first time.
void begin(Query& query, const ShardOrder& order, ShardPart& part);

/// The reply of an answered part could not be merged: its mirror sent something useless. True when
/// the rules of retries allow another mirror to be asked: pass_shard_pipeline() again.
Task<bool> reject(ShardCall& call, std::string why);

/// Another part of the same shard's query has the answer that counts: how it ended, and its reply,
/// become the part's. What the part had is settled.
void take_over(ShardCall& call, ShardPart& other);

/// Enters what is still unsettled and gives the buffers of the part back.
void settle(Query& query, ShardPart& part);

}  // namespace karmad
