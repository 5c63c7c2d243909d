#pragma once

#include <optional>

#include "balancer/dispatch/shard_part.hpp"

namespace karmad {

/// A mirror to try, and how long connecting to it may take.
struct Selected {
  std::size_t mirror = 0;
  Micros connect_timeout{};
};

/// What the next attempt of a part asks its mirror set.
Question question_of(const Query& query, const ShardOrder& order, const ShardPart& part);

/// Whether a mirror suits that this part has not tried yet.
bool has_untried(const Query& query, const ShardOrder& order, const ShardPart& part);

/// Whether one of them is in another zone than the mirror it tried last, and in none it has left.
bool has_other_zone(const Query& query, const ShardOrder& order, const ShardPart& part);

/// The mirror to try by what is known now; nothing when none suits, or (`part.refused`) when none
/// ever will.
std::optional<Selected> select_now(Query& query, const ShardOrder& order, ShardPart& part);

/// Nothing suits yet: waits for news of the set until something does (SS-112, SS-128). Nothing and
/// `part.refused`: nothing did in time.
Task<std::optional<Selected>> wait_for_mirror(Query& query, const ShardOrder& order,
                                              ShardPart& part);

}  // namespace karmad
