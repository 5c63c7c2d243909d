#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "balancer/core/query.hpp"
#include "balancer/rules/error_texts.hpp"

namespace karmad {

struct ShardQuery;

/// The error text of a mirror in a form that can be compared: its own table names (as whole words)
/// and its own address are replaced by a placeholder. The rest, numbers included, must be equal in
/// other mirrors' texts.
std::string comparable(int status, std::string_view said, std::span<const std::string> tables,
                       std::string_view agent);

/// Who caused the error of the mirror, from the attempt `result`, given the errors of other mirrors
/// of this shard, the mirrors left to ask (`untried`), and what the shard has seen of this text
/// (cause_of()). If the query did, all attributions of this shard are recorded as if the mirrors
/// had answered. If it is undecided, this one is stored; if the mirror did, the caller records it.
Cause cause_of_error(Query& query, const ShardQuery& shard_query, const Shard& shard,
                     std::size_t mirror, Candidates untried, std::string_view said,
                     const AttemptResult& result, TimePoint now);

/// Called when all shards have ended without an answer: whether a mirror of any other shard gave
/// the same error, or mirrors agreed on it for another query, so that the query is at fault
/// (cause_of()). Then all attributions are recorded.
bool is_mistake_in_all_shards(Query& query, const ShardQuery& shard_query, const Shard& shard,
                              std::size_t mirror, TimePoint now);

/// Records the attributions of this shard (null: of all shards) for their mirrors, as
/// `client_mistake` or as `agent_error`.
void confirm_errors(Query& query, const ShardQuery& shard_query, const Shard* shard, Outcome as,
                    TimePoint now);

/// Another mirror of the shard answered the query: the errors were caused by the mirrors.
void discard_errors(Query& query, const ShardQuery& shard_query, const Shard& shard, TimePoint now);

/// The query has ended undecided: the mirrors are at fault, unless mirrors agreed on this error for
/// other queries.
void confirm_remaining_errors(Query& query, const ShardQuery& shard_query, TimePoint now);

}  // namespace karmad
