#pragma once

#include "balancer/core/query.hpp"

namespace karmad {

/// Puts a query to its table's shards, all at once, and makes one answer of what they say. The
/// client's mistakes come back as the agents word them; a shard without an answer is a warning, or
/// an error where partial results are denied.
Task<Answer> scatter_gather(Query& query, const Table& table, const Dialect& dialect);

}  // namespace karmad
