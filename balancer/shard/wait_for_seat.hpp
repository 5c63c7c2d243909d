#pragma once

#include "balancer/shard/select_mirror.hpp"

namespace karmad {

/// Nothing was selected for the next attempt of a part: the mirrors that suit it, if that is
/// because they are full (`max_in_flight`).
Candidates all_full(const Query& query, const ShardOrder& order, const ShardPart& part);

/// Waits in the line of the set until a mirror that suits has a seat. Nothing and `part.refused`:
/// too many wait already, or time was up; nothing else: no mirror suits any more, or the part is
/// over.
Task<std::optional<Selected>> wait_for_seat(Query& query, const ShardOrder& order, ShardPart& part);

}  // namespace karmad
