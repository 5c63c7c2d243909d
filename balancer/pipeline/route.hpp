#pragma once

#include "balancer/endpoints/endpoints.hpp"
#include "balancer/pipeline/handle.hpp"

namespace karmad {

/// Finds what answers the request: one of our own endpoints, or the shards of a table, which
/// `scatter` puts it to.
class Route {
 public:
  constexpr explicit Route(Scatter scatter) : scatter_(scatter) {}

  Task<Answer> operator()(Query& query) const { return answer(query, scatter_); }

 private:
  Scatter scatter_;
};

}  // namespace karmad
