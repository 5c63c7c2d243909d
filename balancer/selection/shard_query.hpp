#pragma once

#include "balancer/core/query.hpp"
#include "balancer/selection/selection.hpp"

namespace karmad {

struct ShardRules;

/// How a query is sent to its shards; the same for all of them.
struct ShardQuery {
  const Table& table;
  const Dialect& dialect;
  const Parsed& parsed;
  const FanOut* plan;  ///< null: the client's own request is sent
  const Selection& selection;
};

/// Whether the mirrors of a shard must agree on the answer; searches only (CO-070).
inline bool by_quorum(const Query& query, const ShardQuery& shard_query) {
  return shard_query.parsed.read && !shard_query.parsed.follow_up &&
         query.consistency.value_or(shard_query.table.consistency) == Consistency::quorum;
}

/// Fills in the rules for one shard of a query. They refer to the arguments.
void fill_rules(const Query& query, const ShardQuery& shard_query, const Shard& shard,
                ShardRules& rules);

}  // namespace karmad
