#pragma once

#include "balancer/shard/shard_part.hpp"

namespace karmad {

/// The innermost handle of a shard: selects a mirror, waits for one where that is allowed, has it
/// asked, and says what the retry rules make of its answer (BP-003 … BP-014). What the
/// answer shows of the mirror is entered and told before it returns. A decision to go on is for the
/// handles around it; `part.pause` was made already.
struct OneAttempt {
  Task<Decision> operator()(ShardCall& call) const;
};

}  // namespace karmad
