#pragma once

#include "agent/dialect/dialect.hpp"
#include "balancer/core/query.hpp"

namespace karmad {

// What answers at the paths of ours, and at those of dialects. Each may be called on a complete
// request only.

using Handler = Task<Answer> (*)(Query& query);

Task<Answer> answer_banner(Query& query);
Task<Answer> answer_healthy(Query& query);
Task<Answer> answer_ready(Query& query);
Task<Answer> answer_agents(Query& query);
Task<Answer> answer_hello(Query& query);
Task<Answer> answer_status(Query& query);
Task<Answer> answer_metrics(Query& query);
Task<Answer> answer_admission(Query& query);

/// Answers what a dialect serves; `scatter` puts what is a query to the shards of its table.
/// Statements about karmad itself are answered as the endpoint says.
Task<Answer> answer_served(Query& query, const ServedPath& served, Scatter scatter);

/// An answer that is there already.
Task<Answer> at_once(Answer answer);

/// What could not become a query; counted.
Answer bad_request(Query& query, int status, std::string_view reason);

}  // namespace karmad
