#pragma once

#include <array>
#include <string_view>

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

/// Whether the request is an admin call: at one of these paths, which on the query port routes of
/// tables take precedence over.
bool is_admin_call(const Query& query);

/// Does the call, or refuses it: 401 without the token, 403 on the query port (unless
/// `admin_on_query_port`) and for web pages without a token, 400, 404, 405 and 409 for mistakes.
Task<Answer> answer_admin_call(Query& query);

}  // namespace karmad
