#pragma once

#include <utility>

#include "balancer/rules/hedge_plan.hpp"
#include "balancer/shard/shard_next.hpp"

namespace karmad {

/// Decides how the part is hedged now (`hedging`); nothing: it is not (updates, switched off, too
/// few mirrors or samples, a set that is busy, an empty budget).
void decide_hedging(ShardCall& call);

/// Has `next` make the part's attempts, and while they are late has it ask mirrors not in use for
/// the part. The first final answer counts and ends the others at once (CO-080 … CO-083); it is
/// moved into the part.
Task<void> race(ShardCall& call, HedgeRules rules, ShardNext next);

/// Around the attempts of a part: a race where hedging is in force, else nothing.
template <class Next>
class Hedged {
 public:
  constexpr explicit Hedged(Next next) : next_(std::move(next)) {}

  Task<void> operator()(ShardCall& call) const {
    decide_hedging(call);
    if (call.part.hedging) return race(call, *call.part.hedging, ShardNext(next_));
    return next_(call);
  }

 private:
  Next next_;
};

}  // namespace karmad
