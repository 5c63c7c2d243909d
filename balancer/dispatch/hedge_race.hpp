#pragma once

#include "balancer/dispatch/hedge_plan.hpp"
#include "balancer/dispatch/shard_part.hpp"

namespace karmad {

/// How this part is hedged now; nothing: it is not (updates, switched off, too few mirrors or
/// samples, a set that is busy, an empty budget).
std::optional<HedgeRules> hedging_of(const Query& query, const ShardOrder& order,
                                     const ShardPart& part);

/// Makes the part's attempts, and while they are late those of hedges at mirrors not in use for it.
/// The first final answer counts and ends the others at once (CO-080 … CO-083); it is moved into
/// `part`.
Task<void> race(Query& query, const ShardOrder& order, ShardPart& part, const HedgeRules& rules);

}  // namespace karmad
