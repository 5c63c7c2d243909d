#pragma once

#include "agent/dialect/kinds/dialect_kind.hpp"
#include "balancer/core/query.hpp"
#include "balancer/endpoints/table_answers.hpp"

namespace karmad {

// The handlers of the endpoints about karmad itself and of the endpoints of dialects. Each needs a
// complete request.

using Handler = Task<Answer> (*)(Query& query);

Task<Answer> answer_banner(Query& query);
Task<Answer> answer_healthy(Query& query);
Task<Answer> answer_ready(Query& query);
Task<Answer> answer_agents(Query& query);
Task<Answer> answer_hello(Query& query);
Task<Answer> answer_status(Query& query);
Task<Answer> answer_metrics(Query& query);
/// The last events as JSON, or as a stream for a client that accepts text/event-stream.
Task<Answer> answer_events(Query& query);
Task<Answer> answer_admission(Query& query);
Task<Answer> answer_explain(Query& query);
Task<Answer> answer_dashboard(Query& query);

/// Answers a request at an endpoint of a dialect; `scatter` sends queries to the shards of their
/// table. The endpoint decides about statements about karmad itself.
Task<Answer> answer_served(Query& query, const ServedPath& served, Scatter scatter);

}  // namespace karmad
