#pragma once

#include <string>

#include "balancer/dispatch/shard_part.hpp"

namespace karmad {

/// Asks the shard's mirrors: one after the other until one has answered, nothing more may be tried,
/// or the query is over; and, where searches are hedged, a second one while the first is late. May
/// be called again for the same part (a reply that could not be merged).
Task<void> ask_shard(Query& query, const ShardOrder& order, ShardPart& part);

/// The reply of an answered part could not be merged: its mirror sent something useless. True when
/// the rules of retries allow another mirror to be asked; ask_shard() does that.
bool reject(Query& query, const ShardOrder& order, ShardPart& part, std::string why);

/// Enters what is still unsettled and gives the buffers of the part back.
void settle(Query& query, ShardPart& part);

}  // namespace karmad
