#pragma once

#include "balancer/core/query.hpp"

namespace karmad {

/// Answers a request at an endpoint of statements: each is about karmad itself, about the client's
/// connection, or is sent to the shards of its table by `scatter`. Several are answered one after
/// the other, as an array of result sets, or as tables in text; the first that fails is the answer.
Task<Answer> answer_statements(Query& query, const ServedPath& served, Scatter scatter);

}  // namespace karmad
