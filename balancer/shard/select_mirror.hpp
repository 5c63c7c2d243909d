#pragma once

#include <optional>

#include "balancer/shard/shard_part.hpp"

namespace karmad {

/// A mirror to try, how long connecting to it may take, and the seat there.
struct Selected {
  std::size_t mirror = 0;
  Micros connect_timeout{};
  Seat seat;
};

/// What the next attempt of a part asks its mirror set.
Question question_of(const Query& query, const ShardOrder& order, const ShardPart& part);

/// The same now: mirrors that are full are left out.
Question question_now(const Query& query, const ShardOrder& order, const ShardPart& part);

/// How long connecting to the mirror may take.
Micros time_to_connect(const Query& query, const ShardOrder& order, const ShardPart& part,
                       std::size_t mirror);
/// The mirrors that suit, and are not full, which this part has not tried yet.
Candidates untried(const Query& query, const ShardOrder& order, const ShardPart& part);

/// Whether a mirror suits, and is not full, that this part has not tried yet; other than `but`.
bool has_untried(const Query& query, const ShardOrder& order, const ShardPart& part,
                 std::optional<std::size_t> but = std::nullopt);

/// Whether a mirror that suits no worse than those it tried was not tried yet, is not full, and is
/// not known to be behind the generation that the client has seen (CO-077).
bool has_up_to_date(const Query& query, const ShardOrder& order, const ShardPart& part);

/// Whether one of those has_untried() finds is in another zone than the mirror it tried last, and
/// in none it has left.
bool has_other_zone(const Query& query, const ShardOrder& order, const ShardPart& part);

/// The mirror that the strategy chooses, and a seat there; nothing: none suits, or none has a seat.
std::optional<Selected> seated(Query& query, const ShardOrder& order, const ShardPart& part,
                               Question&& question);

/// The mirror to try by what is known now, the one that a rule named (`part.wanted`) before others;
/// nothing when none suits or all that do are full, or (`part.refused`) when none ever will.
std::optional<Selected> select_now(Query& query, const ShardOrder& order, ShardPart& part);

}  // namespace karmad
