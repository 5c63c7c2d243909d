#pragma once

#include "balancer/endpoints.hpp"
#include "balancer/pipeline/handle.hpp"

namespace karmad {

/// The last handle: finds what answers the request, and has it answer.
struct Route {
  Task<Answer> operator()(Query& query) const { return answer(query); }
};

}  // namespace karmad
