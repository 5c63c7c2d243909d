#pragma once

#include <utility>

#include "balancer/core/query.hpp"

namespace karmad {

/// Takes the tickets that a query needs, if they are free; true also if it needs none. The query
/// keeps them until its answer was handed to the socket (AC-064).
bool try_admit(Query& query);
/// Waits for the tickets that were not free. Returns the refusal if the query does not get them.
Task<std::optional<Answer>> wait_for_tickets(Query& query);

/// The refusal of a request whose head was read, if its kind has no ticket left and no room to
/// wait. It is cheap, since under overload most requests are refused. None for a request that may
/// get a ticket, needs none, has a trace consumer, or whose ticket class does not follow from the
/// path alone: these take the full pipeline.
std::optional<Answer> early_ticket_refusal(Worker& worker, const RequestHead& head);

// The steps of the pipeline. Each owns the next one, calls it or answers itself, and lives until
// the query has its answer.

/// Admits a query that gets its tickets: first one of all requests, then one of searches
/// or updates (AC-060 … AC-065). A query that gets them at once costs no coroutine of its own.
template <class Next>
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

/// Calls the application's handles in their order; without any it calls the next step directly.
template <class Last>
class UserHandles {
 public:
  constexpr explicit UserHandles(Last next) : next_(std::move(next)) {}

  Task<Answer> operator()(Query& query) const {
    return Next(query.worker.process.user_handles, next_)(query);
  }

 private:
  Last next_;
};

}  // namespace karmad
