#pragma once

#include "balancer/shard/shard_part.hpp"

namespace karmad {

/// What the retry rules say after the part's last attempt. A hedge has no retries: it is only
/// judged (CO-083).
Decision after_attempt(ShardCall& call, const AttemptEnd& end);

/// What an error answer says of the state of its mirror, or of what to do next.
Advice advice_in(const ShardOrder& order, const AttemptEnd& end);

/// Whether another attempt would be made if the part's attempt that is under way ended so. Changes
/// nothing.
bool would_be_repeated(const ShardCall& call, const AttemptEnd& end);

/// Gives the buffers of a part's reply back; what is still to come of it is not waited for.
void drop_reply(Query& query, ShardPart& part);

}  // namespace karmad
