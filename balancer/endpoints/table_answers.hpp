#pragma once

#include "balancer/core/query.hpp"

namespace karmad {

/// Parses the request, a long one on a helper thread, and sends it to the shards of its table. A
/// request that names no table goes to the first table of the dialect.
Task<Answer> answer_query(Query& query, const ServedPath& served, Scatter scatter);

/// Refuses a query in the form of errors of its dialect.
Answer refused_query(Query& query, const ServedPath& served, const ClientError& error);

/// A task that is complete: it has this answer.
Task<Answer> completed_task(Answer answer);

}  // namespace karmad
