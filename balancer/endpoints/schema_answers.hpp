#pragma once

#include "balancer/endpoints/status_answers.hpp"
#include "balancer/topology/topology.hpp"

namespace karmad {

/// Answers a statement about the schema (StatementKind::schema), the one of `query.request`: from
/// the configuration, and from what mirrors say of the tables that it can be about.
Task<Answer> answer_schema(Query& query, const ServedPath& served, Scatter scatter,
                           StatusForm form);

}  // namespace karmad
