#pragma once

#include "balancer/core/query.hpp"

namespace karmad {

/// Sends a query to all shards of its table concurrently and merges their replies into one answer.
/// A client's mistake is reported in the agent's words. A shard without an answer leads to a
/// warning, or to an error if partial results are denied.
Task<Answer> scatter_gather(Query& query, const Table& table, const Dialect& dialect);

}  // namespace karmad
