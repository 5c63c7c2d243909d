#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "balancer/core/query.hpp"

namespace karmad {

struct ShardQuery;

/// The error text of a mirror in a form that can be compared: its own table names (as whole words)
/// and its own address are replaced by a placeholder. The rest, numbers included, must be equal in
/// other mirrors' texts.
std::string comparable(int status, std::string_view said, std::span<const std::string> tables,
                       std::string_view agent);

/// Whether the error of the mirror, from the attempt `result`, shows that the query is at fault,
/// given the errors of other mirrors of this shard and the mirrors left to ask (`untried`;
/// query_is_at_fault()). If so, all complaints of this shard are recorded as if the mirrors had
/// answered. If not, this one is stored.
bool is_mistake_of_query(Query& query, const ShardQuery& shard_query, const Shard& shard,
                         std::size_t mirror, Candidates untried, std::string_view said,
                         const AttemptResult& result);

/// Called when all shards have ended without an answer: whether a mirror of any other shard gave
/// the same error, or two mirrors did recently for another query. If so, the query is at fault, and
/// all complaints are recorded.
bool is_mistake_in_all_shards(Query& query, const ShardQuery& shard_query, const Shard& shard,
                              std::size_t mirror);

/// Records the complaints of this shard (null: of all shards) for their mirrors, as
/// `client_mistake` or as `agent_error`.
void settle_complaints(Query& query, const ShardQuery& shard_query, const Shard* shard, Outcome as);

/// Another mirror of the shard answered the query: the errors were caused by the mirrors.
void refute_complaints(Query& query, const ShardQuery& shard_query, const Shard& shard);

/// The query has ended undecided: the mirrors are at fault, unless two mirrors gave the same error
/// recently.
void give_up_complaints(Query& query, const ShardQuery& shard_query);

}  // namespace karmad
