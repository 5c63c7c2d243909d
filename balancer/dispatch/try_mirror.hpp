#pragma once

#include "balancer/dispatch/select_mirror.hpp"

namespace karmad {

/// One attempt at one mirror, judged, recorded and traced. A merged answer that is good so far is
/// not recorded yet: merging may show it broken.
Task<AttemptEnd> try_mirror(Query& query, const ShardOrder& order, ShardPart& part,
                            Selected selected);

}  // namespace karmad
