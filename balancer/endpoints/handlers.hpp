#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "agent/dialect/fronts/sql/sql_request.hpp"
#include "agent/dialect/kinds/dialect_kind.hpp"
#include "agent/dialect/request/sql_statement.hpp"
#include "agent/dialect/rows/result_set.hpp"
#include "balancer/core/query.hpp"
#include "balancer/topology/topology.hpp"

namespace karmad {

// The handlers of the endpoints about karmad itself and of the endpoints of dialects. Each needs a
// complete request.

using Handler = Task<Answer> (*)(Query& query);

Task<Answer> answer_banner(Query& query);
Task<Answer> answer_healthy(Query& query);
Task<Answer> answer_ready(Query& query);
Task<Answer> answer_hello(Query& query);
/// The last events as JSON, or as a stream for a client that accepts text/event-stream.
Task<Answer> answer_events(Query& query);
Task<Answer> answer_admission(Query& query);
Task<Answer> answer_explain(Query& query);
Task<Answer> answer_dashboard(Query& query);

/// Answers a request at an endpoint of a dialect; `scatter` sends queries to the shards of their
/// table. The endpoint decides about statements about karmad itself.
Task<Answer> answer_served(Query& query, const ServedPath& served, Scatter scatter);

/// The paths of admin calls, for the description of the API.
inline constexpr std::array<std::string_view, 3> kAdminPaths{"/admin/config", "/admin/{call}",
                                                             "/reload"};

/// Whether that is one of these paths.
bool is_admin_path(std::string_view path);
/// Whether the request is an admin call: at one of these paths, which on the query port routes of
/// tables take precedence over.
bool is_admin_call(const Query& query);

/// Does the call, or refuses it: 401 without the token, 403 on the query port (unless
/// `admin_on_query_port`) and for web pages without a token, 400, 404, 405 and 409 for mistakes.
Task<Answer> answer_admin_call(Query& query);

/// Parses the request, a long one on a helper thread, and sends it to the shards of its table. A
/// request that names no table goes to the first table of the dialect.
Task<Answer> answer_query(Query& query, const ServedPath& served, Scatter scatter);

/// Refuses a query in the form of errors of its dialect.
Answer refused_query(Query& query, const ServedPath& served, const ClientError& error);

/// A task that is complete: it has this answer.
Task<Answer> completed_task(Answer answer);

/// The rows as an answer of karmad, in the form that the client takes and the endpoint has; without
/// columns: that the statement is done.
Answer rows_answer(const Query& query, const ServedPath& served, ResultSet set);

/// Answers about karmad itself. This thread reads the numbers; with many agents a helper thread
/// writes the answer.
Task<Answer> answer_agents(Query& query);
Task<Answer> answer_status(Query& query);
Task<Answer> answer_metrics(Query& query);
Task<Answer> statement_answer(Query& query, const ServedPath& served,
                              sql::StatusStatement statement);

/// The statements of the request, found once. Reads a long one on this thread: before it is
/// admitted its class must be known.
const StatementsRead& statements_of(Query& query);

/// Answers a request at an endpoint of statements: each is about karmad itself, about the client's
/// connection, or is sent to the shards of its table by `scatter`. Several are answered one after
/// the other, as an array of result sets, or as tables in text; the first that fails is the answer.
Task<Answer> answer_statements(Query& query, const ServedPath& served, Scatter scatter);

/// Answers a statement about the schema (StatementKind::schema), the one of `query.request`: from
/// the configuration, and from what mirrors say of the tables that it can be about.
Task<Answer> answer_schema(Query& query, const ServedPath& served, Scatter scatter);

/// Makes `statement`, whose text outlives the query's answer, the request of the query: one of
/// several that are answered one after the other, with rows as the endpoint writes them.
void set_statement(Query& query, sql::StatementText statement);

/// Answers a SELECT, and keeps it for SHOW META if the connection of the query keeps one: of one
/// that failed only the reason.
Task<Answer> answer_select(Query& query, const ServedPath& served, Scatter scatter,
                           std::string_view select);

/// Answers a statement about the client's connection. SHOW META tells of the last SELECT on it; if
/// that SELECT was passed to its only shard, it is asked again together with SHOW META. SHOW PLAN
/// and SHOW PROFILE ask a mirror of the first shard to run the SELECT again.
Task<Answer> answer_session(Query& query, const ServedPath& served, Scatter scatter,
                            sql::SessionStatement statement);

/// 401 for a client of an admin listener that may not read the status: with a token configured, it
/// is needed by all but clients on this host.
std::optional<Answer> refuse_reader(Query& query);

/// The answer to a client that may not make calls of an operator; nothing: it may.
std::optional<Answer> refuse_operator(Query& query);

/// 404: queries are not answered on the admin listeners.
Answer no_queries_here(Query& query);

}  // namespace karmad
