#pragma once

#include "balancer/dispatch/shard_part.hpp"

namespace karmad {

/// The attempts of one part, one after the other: the first, and the retries that the rules, the
/// budget and the time allow (section 4.3 of the requirements). Ends when one has answered, nothing
/// more may be tried, or the part is over. `part.retries` is there already; a hedge has none: it
/// makes one attempt (CO-083).
Task<void> make_attempts(Query& query, const ShardOrder& order, ShardPart& part);

/// What the retry rules say after the part's last attempt.
Decision after_attempt(Query& query, const ShardOrder& order, ShardPart& part,
                       const AttemptEnd& end);

/// Asks the budget for the attempt that `next` wants, before its pause; `part.extra` is it.
bool take_budget(Query& query, ShardPart& part, const Decision& next);

/// Gives the buffers of a reply back.
void give_back(Query& query, Reply& reply);

}  // namespace karmad
