#pragma once

#include "balancer/dispatch/shard_part.hpp"

namespace karmad {

/// Sees to everything that stands before the next attempt of a part, which `next` allows: the
/// consent of the budget, counted from here on, because what waits to be sent is as much a load to
/// come; the pause; the counters and the log. False: there is none, the budget refused or the part
/// is over. It cannot be called for a hedge, which has no retries.
Task<bool> again(ShardCall& call, const Decision& next);

/// Asks the budget for the attempt that `next` wants; `part.extra` is it.
bool take_budget(ShardCall& call, const Decision& next);

}  // namespace karmad
