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
  const Plan* plan;  ///< null: the client's own request is sent
  const Selection& selection;
};

/// Whether the mirrors of a shard must agree on the answer; searches only (CO-070).
inline bool by_quorum(const Query& query, const ShardQuery& shard_query) {
  return shard_query.parsed.selection_class() == SelectionClass::may_use_secondary &&
         !shard_query.parsed.follow_up &&
         query.request.consistency.value_or(shard_query.table.consistency) == Consistency::quorum;
}

/// The rules for one shard of a query, at `shard_at` in its table, from 0. They refer to the
/// arguments. `only`: the one mirror that the request is for.
ShardRules rules_for(const Query& query, const ShardQuery& shard_query, const Shard& shard,
                     std::size_t shard_at, std::optional<std::size_t> only);
/// The rules of searches without options of their own, which all have the same rules. The deadline,
/// the worker and the counter of waiting selections are left out.
void fill_search_rules(const Topology& topology, const Table& table, const Shard& shard,
                       const Selection& selection, ShardRules& rules);

/// A query that is about to pick a mirror of a shard. The worker is the caller's.
struct PickSubject {
  const Topology& topology;
  const Table& table;
  const Shard& shard;
  const Selection& selection;
  Worker& worker;
};

/// The criteria by which the mirror of its first attempt is picked now, by the same MirrorChoice as
/// in a ShardRequest. Takes nothing. `min_generation`: the newest data the client has seen. The
/// criteria refer to the selection.
SelectionCriteria first_pick_criteria(const PickSubject& of,
                                      std::optional<std::uint64_t> min_generation = std::nullopt);

/// For each mirror the probability that the next search goes there, probes aside. If all suitable
/// mirrors are full, the probability once they have free slots. All 0 if none may be asked.
std::vector<double> first_pick_shares(const PickSubject& of);

}  // namespace karmad
