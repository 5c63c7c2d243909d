#pragma once

#include <utility>

#include "balancer/endpoints.hpp"
#include "balancer/pipeline/handle.hpp"

namespace karmad {

/// Finds what answers the request: one of our own endpoints, or the shards of a table, which
/// `scatter` puts it to. Does that once more when a shard is found to have moved meanwhile
/// (CO-052).
class Route {
 public:
  constexpr explicit Route(Scatter scatter) : scatter_(scatter) {}

  Task<Answer> operator()(Query& query) const {
    auto told = co_await answer(query, scatter_);
    if (!std::exchange(query.plan_anew, false) || query.stopped) co_return told;
    query.worker.counters.add(Count::planned_anew);
    query.former = std::exchange(query.topology, query.worker.topology());
    told = co_await answer(query, scatter_);
    co_return told;
  }

 private:
  Scatter scatter_;
};

}  // namespace karmad
