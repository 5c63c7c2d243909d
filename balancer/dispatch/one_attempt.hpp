#pragma once

#include "balancer/dispatch/shard_part.hpp"

namespace karmad {

/// The innermost handle of a shard: selects a mirror, waits for one where that is allowed, has it
/// asked, and says what the rules make of its answer (section 4.3 of the requirements). What the
/// answer shows of the mirror is entered and told before it returns. A decision to go on is for the
/// handles around it; `part.pause` was made already.
struct OneAttempt {
  Task<Decision> operator()(ShardCall& call) const;
};

/// What the retry rules say after the part's last attempt. A hedge has no retries: it is only
/// judged (CO-083).
Decision after_attempt(ShardCall& call, const AttemptEnd& end);

/// Whether another attempt would be made if the part's attempt that is under way ended so. Changes
/// nothing.
bool would_be_repeated(const ShardCall& call, const AttemptEnd& end);

/// Gives the buffers of a part's reply back; what is still to come of it is not waited for.
void drop_reply(Query& query, ShardPart& part);

}  // namespace karmad
