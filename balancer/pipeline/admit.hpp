#pragma once

#include <utility>

#include "balancer/pipeline/handles.hpp"

namespace karmad {

/// Takes the tickets that a query needs, if they are free; true also if it needs none. The query
/// keeps them until its answer was handed to the socket (AC-064).
bool try_admit(Query& query);
/// Waits for the tickets that were not free. Returns the refusal if the query does not get them.
Task<std::optional<Answer>> wait_for_tickets(Query& query);

/// Admits a query that gets its tickets: first one of all requests, then one of searches
/// or updates (AC-060 … AC-065). A query that gets them at once costs no coroutine of its own.
template <Handle Next>
class Admit {
 public:
  constexpr explicit Admit(Next next) : next_(std::move(next)) {}

  Task<Answer> operator()(Query& query) const {
    if (try_admit(query)) return next_(query);
    return wait(query);
  }

 private:
  Task<Answer> wait(Query& query) const {
    auto refused = co_await wait_for_tickets(query);
    if (refused) co_return *std::move(refused);
    co_return co_await next_(query);
  }

  Next next_;
};

}  // namespace karmad
