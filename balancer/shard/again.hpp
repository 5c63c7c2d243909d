#pragma once

#include "balancer/shard/shard_part.hpp"

namespace karmad {

/// Sees to everything that stands before the next attempt of a part, which `next` allows: the
/// consent of the budget, counted from here on, because what waits to be sent is as much a load to
/// come; the pause; the counters and the log. False: there is none, the budget refused or the part
/// is over. It cannot be called for a hedge, which has no retries.
Task<bool> again(ShardCall& call, const Decision& next);

/// Whether the attempt that `next` wants may be made, and at which mirrors (`part.among`): by what
/// is known of them, and by the budget; `part.extra` is it. Where an attempt under way is about to
/// tell more it waits for that, until the deadline of the query.
Task<bool> may_retry(ShardCall& call, const Decision& next);

}  // namespace karmad
