#pragma once

#include "balancer/dispatch/select_mirror.hpp"

namespace karmad {

/// The mirrors that suit the part's next attempt, if all of them are full (`max_in_flight`).
Candidates all_full(const Query& query, const ShardOrder& order, const ShardPart& part);

/// Waits in the line of the set until a mirror that suits has a seat. Nothing and `part.refused`:
/// too many wait already, or time was up; nothing else: no mirror suits any more, or the part is
/// over.
Task<std::optional<Selected>> wait_for_seat(Query& query, const ShardOrder& order, ShardPart& part);

}  // namespace karmad
