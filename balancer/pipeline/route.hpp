#pragma once

#include "balancer/endpoints/endpoints.hpp"
#include "balancer/pipeline/handle.hpp"

namespace karmad {

/// Finds the endpoint that answers the request; `scatter` sends a query to the shards of its table.
class Route {
 public:
  constexpr explicit Route(Scatter scatter) : scatter_(scatter) {}

  Task<Answer> operator()(Query& query) const { return answer(query, scatter_); }

 private:
  Scatter scatter_;
};

}  // namespace karmad
