#pragma once

#include "agent/dialect/fronts/sql/sql_request.hpp"
#include "balancer/core/query.hpp"
#include "balancer/endpoints/status_answers.hpp"
#include "balancer/topology/topology.hpp"

namespace karmad {

/// The statements of the request, found once. Reads a long one on this thread: before it is
/// admitted its class must be known.
const StatementsRead& statements_of(Query& query);

/// Answers a request at an endpoint of statements: each is about karmad itself, about the client's
/// connection, or is sent to the shards of its table by `scatter`. Several are answered one after
/// the other, as an array of result sets, or as tables in text; the first that fails is the answer.
Task<Answer> answer_statements(Query& query, const ServedPath& served, Scatter scatter);

/// Answers a statement about the schema (StatementKind::schema), the one of `query.request`: from
/// the configuration, and from what mirrors say of the tables that it can be about.
Task<Answer> answer_schema(Query& query, const ServedPath& served, Scatter scatter,
                           StatusForm form);

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
