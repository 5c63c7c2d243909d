#pragma once

#include <optional>

#include "balancer/core/query.hpp"

namespace karmad {

/// Whether the request has the token of `admin_token_file`.
bool has_token(const Query& query);
/// The answer to a request without it.
Answer token_missing(Query& query);

/// 401 for a client of an admin listener that may not read the status: with a token configured, it
/// is needed by all but clients on this host.
std::optional<Answer> refuse_reader(Query& query);

/// The answer to a client that may not make calls of an operator; nothing: it may.
std::optional<Answer> refuse_operator(Query& query);

/// 404: queries are not answered on the admin listeners.
Answer no_queries_here(Query& query);

}  // namespace karmad
