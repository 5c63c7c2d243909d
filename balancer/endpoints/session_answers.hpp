#pragma once

#include "agent/dialect/fronts/sql/sql_request.hpp"
#include "balancer/core/query.hpp"
#include "balancer/endpoints/status_answers.hpp"

namespace karmad {

/// Makes `statement`, whose text outlives the query's answer, the request of the query: one of
/// several that are answered one after the other, with rows as the endpoint writes them.
void set_statement(Query& query, StatementText statement);

/// Answers a SELECT, and keeps it for SHOW META if the connection of the query keeps one: of one
/// that failed only the reason.
Task<Answer> answer_select(Query& query, const ServedPath& served, Scatter scatter,
                           std::string_view select);

/// Answers a statement about the client's connection. SHOW META tells of the last SELECT on it; if
/// that SELECT was passed to its only shard, it is asked again together with SHOW META. SHOW PLAN
/// and SHOW PROFILE ask a mirror of the first shard to run the SELECT again.
Task<Answer> answer_session(Query& query, const ServedPath& served, Scatter scatter,
                            SessionStatement statement, StatusForm form);

}  // namespace karmad
