#include "balancer/pipeline/admitted.hpp"

#include <fmt/format.h>

#include <array>

#include "balancer/pipeline/ticket_gate.hpp"

namespace karmad {
namespace {

/// A ticket that the query needs, and the place where the query keeps it.
struct Needed {
  TicketGate gate;
  Ticket& ticket;
};

/// The needed tickets in the order of their gates. A request of low priority takes the ticket of
/// its own pool first, so that requests in that queue hold no ingress tickets.
std::array<Needed, 2> needed(Query& query, Admission& admission, TicketClass ticket_class,
                             Priority priority) {
  const Needed ingress{ingress_gate(admission), query.ingress_ticket};
  const Needed work{work_gate(admission, ticket_class, priority), query.work_ticket};
  if (priority == Priority::low) return {work, ingress};
  return {ingress, work};
}

/// A query in the queue of a pool.
struct Waiting final : TicketWaiter {
  Waiting(TicketPool& of, const Query& query, Priority with)
      : TicketWaiter(query.worker.loop.index, with,
                     query.admissions != nullptr ? *query.admissions : 0),
        pool(of) {}

  void woken() override {
    done = true;
    signal.notify();
  }
  void leave() {
    if (done || !pool.cancel(*this, Loop::now())) return;  // else the pool wakes it
    left = true;
    woken();
  }

  TicketPool& pool;
  AsyncEvent signal;
  bool done = false;
  bool left = false;  ///< left the queue without a ticket
};

/// The refusal of a query that has waited.
Answer refused_after(Query& query, const TicketGate& gate, Micros waited, std::string_view why) {
  query.worker.counters.add(Count::tickets_expired);
  return without_ticket(query.worker, gate,
                        fmt::format("waited {} ms for a ticket ({}): {}", waited.count() / 1000,
                                    gate.setting(), why));
}

Task<std::optional<Answer>> wait_at(Query& query, TicketGate gate, Ticket& ticket,
                                    Priority priority, Micros longest) {
  const auto began = Loop::now();
  Waiting waiting(gate.pool, query, priority);
  switch (gate.pool.ask(waiting, began)) {
    case TicketPool::Asked::admitted:
      ticket = gate.pool.collect(waiting, began);
      co_return std::nullopt;
    case TicketPool::Asked::refused:
      co_return queue_is_full(query.worker, gate);
    case TicketPool::Asked::queued:
      break;
  }
  query.worker.counters.add(Count::tickets_waited);
  {
    QueryStop when_over(query);
    Stop& stop = when_over;
    const auto until =
        longest > Micros{0} ? std::min(query.deadline, began + longest) : query.deadline;
    stop.arm(until, StopReason::deadline);
    const Stop::Guard guard(stop, &waiting,
                            [](void* target) { static_cast<Waiting*>(target)->leave(); });
    if (stop.requested()) waiting.leave();
    if (!waiting.done) co_await waiting.signal;
  }
  const auto now = Loop::now();
  const auto waited = std::chrono::duration_cast<Micros>(now - began);
  query.trace.queued += waited;
  if (!waiting.left) ticket = gate.pool.collect(waiting, now);
  if (query.client_left) co_return Answer{};
  if (ticket) co_return std::nullopt;
  if (waiting.left)
    co_return refused_after(query, gate, waited,
                            now >= query.deadline
                                ? "its deadline has passed"
                                : "no request waits longer (ticket_queue_timeout)");
  co_return refused_after(query, gate, waited, "it made room for others (ticket_queue_discipline)");
}

}  // namespace

bool admitted_at_once(Query& query) {
  auto* const admission = query.worker.limits.admission;
  if (admission == nullptr) return true;
  const auto mode = admission->mode();
  if (mode == AdmissionMode::off) return true;
  const auto ticket_class = ticket_class_of(query);
  const auto worker = query.worker.loop.index;
  if (ticket_class == TicketClass::exempt) {
    query.ingress_ticket = admission->ingress.exempt(worker, query.began);
    return true;
  }
  const auto priority = priority_of(query.head, *admission);
  for (const auto& [gate, ticket] : needed(query, *admission, ticket_class, priority)) {
    ticket = mode == AdmissionMode::enforce ? gate.pool.try_take(worker, priority, query.began)
                                            : gate.pool.watch(worker, priority, query.began);
    if (!ticket) return false;
  }
  if (priority == Priority::low && query.admissions != nullptr) ++*query.admissions;
  return true;
}

Task<std::optional<Answer>> wait_for_tickets(Query& query) {
  query.waited = true;
  auto& admission = *query.worker.limits.admission;
  const auto priority = priority_of(query.head, admission);
  const auto longest = admission.queue_timeout();
  for (const auto& [gate, ticket] : needed(query, admission, ticket_class_of(query), priority)) {
    if (ticket) continue;
    ticket = gate.pool.try_take(query.worker.loop.index, priority, Loop::now());
    if (ticket) continue;
    auto refused = co_await wait_at(query, gate, ticket, priority, longest);
    if (refused) co_return refused;
  }
  if (priority == Priority::low && query.admissions != nullptr) ++*query.admissions;
  co_return std::nullopt;
}

}  // namespace karmad
