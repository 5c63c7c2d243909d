#pragma once

#include "balancer/shard/select_mirror.hpp"

namespace karmad {

/// Nothing suits yet: waits for news of the set until something does (SS-112, SS-128); and while
/// all that suit are full, for a seat. Nothing and `part.refused`: nothing did in time.
Task<std::optional<Selected>> wait_for_mirror(Query& query, const ShardOrder& order,
                                              ShardPart& part);

}  // namespace karmad
