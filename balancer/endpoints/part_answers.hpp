#pragma once

#include "balancer/core/query.hpp"

namespace karmad {

/// Answers a request that holds several (Dialect::parts), one after the other. Each has an answer
/// of its own within the whole, also if it fails.
Task<Answer> answer_parts(Query& query, const ServedPath& served, Scatter scatter);

}  // namespace karmad
