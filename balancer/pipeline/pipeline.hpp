#pragma once

#include "balancer/core/query.hpp"

namespace karmad {

/// Everything between a complete request and its answer.
Task<Answer> pass_pipeline(Query& query);

}  // namespace karmad
