#pragma once

#include <concepts>
#include <span>
#include <utility>

#include "balancer/core/query.hpp"
#include "balancer/endpoints/endpoints.hpp"

namespace karmad {

/// A step of the pipeline. It owns the next step, calls it or answers itself, and lives until the
/// query has its answer.
template <class H>
concept Handle = requires(H& handle, Query& query) {
  { handle(query) } -> std::same_as<Task<Answer>>;
};

/// Finds the endpoint that answers the request; `scatter` sends a query to the shards of its table.
class Route {
 public:
  constexpr explicit Route(Scatter scatter) : scatter_(scatter) {}

  Task<Answer> operator()(Query& query) const { return answer(query, scatter_); }

 private:
  Scatter scatter_;
};

/// The application's handles.
std::span<const UserHandle> user_handles(const Query& query);

/// Calls the application's handles in their order; without any it calls the next step directly.
template <class Last>
class UserHandles {
 public:
  constexpr explicit UserHandles(Last next) : next_(std::move(next)) {}

  Task<Answer> operator()(Query& query) const { return Next(user_handles(query), next_)(query); }

 private:
  Last next_;
};

}  // namespace karmad
