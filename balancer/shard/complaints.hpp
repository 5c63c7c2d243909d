#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "balancer/core/query.hpp"

namespace karmad {

struct ShardQuery;

/// What a mirror said, with its own names of the table (as whole words) and its own address
/// replaced by a placeholder. Everything else, numbers included, has to be the same in what another
/// mirror says.
std::string comparable(int status, std::string_view said, std::span<const std::string> tables,
                       std::string_view agent);

/// Whether the complaint of a mirror, at which the attempt `result` was just made, shows that the
/// query is at fault, with what other mirrors of this shard said and which are left to ask
/// (`untried`; query_is_at_fault()). Then all complaints of this shard are settled, as if its
/// mirrors had answered. Else this one is kept.
bool is_mistake_of_query(Query& query, const ShardQuery& shard_query, const Shard& shard,
                         std::size_t mirror, Candidates untried, std::string_view said,
                         const AttemptResult& result);

/// To be asked when all shards have ended and none has answered: whether another mirror, of any
/// shard, said the same as this one, or two did of another query lately. Then the query is at
/// fault, and all complaints are settled.
bool is_mistake_in_all_shards(Query& query, const ShardQuery& shard_query, const Shard& shard,
                              std::size_t mirror);

/// Enters the complaints of this shard (null: of all) into the records of their mirrors: as
/// `client_mistake`, or as `agent_error`.
void settle_complaints(Query& query, const ShardQuery& shard_query, const Shard* shard, Outcome as);

/// Another mirror of the shard answered the query: what was said of it tells of the mirrors.
void refute_complaints(Query& query, const ShardQuery& shard_query, const Shard& shard);

/// The query has ended, and nothing more will tell who is at fault: the mirrors, unless two mirrors
/// said the same lately.
void give_up_complaints(Query& query, const ShardQuery& shard_query);

}  // namespace karmad
