#pragma once

#include "balancer/dispatch/select_mirror.hpp"

namespace karmad {

/// One attempt at one mirror, judged, recorded and traced; `end` is fresh. A merged answer that is
/// good so far is not recorded yet: merging may show it broken.
Task<void> try_mirror(Query& query, const ShardOrder& order, ShardPart& part, Selected selected,
                      AttemptEnd& end);

}  // namespace karmad
