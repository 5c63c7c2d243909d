#pragma once

#include "agent/dialect/dialect.hpp"
#include "balancer/core/query.hpp"

namespace karmad {

// What answers at the paths of ours. Each may be called on a complete request only; `scatter` puts
// what is a query to the shards of its table.

using Handler = Task<Answer> (*)(Query& query, Scatter scatter);

Task<Answer> answer_banner(Query& query, Scatter scatter);
Task<Answer> answer_healthy(Query& query, Scatter scatter);
Task<Answer> answer_ready(Query& query, Scatter scatter);
Task<Answer> answer_agents(Query& query, Scatter scatter);
Task<Answer> answer_hello(Query& query, Scatter scatter);
Task<Answer> answer_status(Query& query, Scatter scatter);
Task<Answer> answer_admission(Query& query, Scatter scatter);
Task<Answer> answer_search(Query& query, Scatter scatter);
Task<Answer> answer_update(Query& query, Scatter scatter);
/// Statements; those about karmad itself are answered as rows of JSON, or with `cli` as text.
Task<Answer> answer_sql(Query& query, Scatter scatter);
Task<Answer> answer_cli(Query& query, Scatter scatter);

/// An answer that is there already.
Task<Answer> at_once(Answer answer);

/// What could not become a query; counted.
Answer bad_request(Query& query, int status, std::string_view reason);

}  // namespace karmad
