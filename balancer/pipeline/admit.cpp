#include "balancer/pipeline/admit.hpp"

#include <fmt/format.h>

#include <array>

#include "balancer/admission/admission.hpp"
#include "balancer/core/refusal.hpp"
#include "balancer/core/request_fields.hpp"
#include "balancer/endpoints/endpoints.hpp"

namespace karmad {
namespace {

constexpr std::array<std::string_view, 4> kSettings{"ingress_tickets", "search_tickets",
                                                    "update_tickets", "low_priority_tickets"};

/// A pool of tickets and its kind.
struct TicketGate {
  TicketPool& pool;
  enum class Kind : std::uint8_t { all, searches, updates, low_priority };
  Kind kind = Kind::all;

  /// Name of the setting with the size of the pool.
  std::string_view setting() const { return kSettings[static_cast<std::size_t>(kind)]; }
  unsigned retry_after() const { return static_cast<unsigned>(pool.retry_after().count()); }
};

TicketGate ingress_gate(Admission& admission) {
  return {admission.ingress, TicketGate::Kind::all};
}

/// `ticket_class`: not exempt.
TicketGate work_gate(Admission& admission, TicketClass ticket_class, Priority priority) {
  if (priority == Priority::low)
    return {ticket_class == TicketClass::update ? admission.low_updates : admission.low_searches,
            TicketGate::Kind::low_priority};
  if (ticket_class == TicketClass::update) return {admission.updates, TicketGate::Kind::updates};
  return {admission.searches, TicketGate::Kind::searches};
}

Priority priority_of(const Head& fields, const Admission& admission) {
  return admission.low_priority() && has_low_priority(fields) ? Priority::low : Priority::normal;
}

/// The bodies of refusals because of a full queue, written once.
const std::string& full_body(TicketGate::Kind kind) {
  static const auto bodies = [] {
    std::array<std::string, kSettings.size()> all;
    for (std::size_t i = 0; i < all.size(); ++i)
      all[i] = answer_with(overload_refusal(fmt::format("all tickets ({}) are taken, and their "
                                                        "queue is full (ticket_queue_depth)",
                                                        kSettings[i])))
                   .body;
    return all;
  }();
  return bodies[static_cast<std::size_t>(kind)];
}

/// 429 for a request without a ticket because the queue is full, with both labels, code 462 and the
/// expected wait (BP-015). Counts. Costs two copies of strings.
Answer queue_full_refusal(Worker& worker, const TicketGate& gate) {
  worker.counters.add(Count::tickets_refused);
  return overload_answer(worker, full_body(gate.kind), gate.retry_after());
}

/// A ticket that the query needs, and the place where the query keeps it.
struct RequiredTicket {
  TicketGate gate;
  Ticket& ticket;
};

/// The tickets in the order in which they are taken. A request of low priority takes the ticket of
/// its own pool first, so that requests in that queue hold no ingress tickets.
std::array<RequiredTicket, 2> required_tickets(Query& query, Admission& admission,
                                               TicketClass ticket_class, Priority priority) {
  const RequiredTicket ingress{ingress_gate(admission), query.resources.ingress_ticket};
  const RequiredTicket work{work_gate(admission, ticket_class, priority),
                            query.resources.work_ticket};
  if (priority == Priority::low) return {work, ingress};
  return {ingress, work};
}

/// A query in the queue of a pool.
struct TicketWait final : TicketWaiter {
  TicketWait(TicketPool& of, const Query& query, Priority with)
      : TicketWaiter(query.worker.loop.index, with,
                     query.client.admissions != nullptr ? *query.client.admissions : 0),
        pool(of) {}

  void on_wake() override {
    done = true;
    signal.notify();
  }
  void leave() {
    if (done || !pool.cancel(*this, Loop::now())) return;  // else the pool wakes it
    gave_up = true;
    on_wake();
  }

  TicketPool& pool;
  AsyncEvent signal;
  bool done = false;
  bool gave_up = false;  ///< it left the queue without a ticket
};

/// The same for a query that has waited.
Answer expired_refusal(Query& query, const TicketGate& gate, Micros waited, std::string_view why) {
  query.worker.counters.add(Count::tickets_expired);
  query.worker.counters.add(Count::tickets_refused);
  auto reason =
      fmt::format("waited {} ms for a ticket ({}): {}", waited.count() / 1000, gate.setting(), why);
  return answer_with(overload_refusal(std::move(reason), gate.retry_after()));
}

Task<std::optional<Answer>> wait_for_ticket(Query& query, TicketGate gate, Ticket& ticket,
                                            Priority priority, Micros longest) {
  const auto began = Loop::now();
  TicketWait waiting(gate.pool, query, priority);
  switch (gate.pool.ask(waiting, began)) {
    case TicketPool::AskResult::admitted:
      ticket = gate.pool.collect(waiting, began);
      co_return std::nullopt;
    case TicketPool::AskResult::refused:
      co_return queue_full_refusal(query.worker, gate);
    case TicketPool::AskResult::queued:
      break;
  }
  query.worker.counters.add(Count::tickets_waited);
  {
    QueryStop stop(query);
    const auto until = longest > Micros{0} ? std::min(query.resources.deadline, began + longest)
                                           : query.resources.deadline;
    stop.arm(until, StopReason::deadline);
    const auto guard = stop.calling<&TicketWait::leave>(waiting);
    if (stop.requested()) waiting.leave();
    if (!waiting.done) co_await waiting.signal;
  }
  const auto now = Loop::now();
  const auto waited = std::chrono::duration_cast<Micros>(now - began);
  query.record.trace.queued += waited;
  if (!waiting.gave_up) ticket = gate.pool.collect(waiting, now);
  if (query.client.left) co_return Answer{};
  if (ticket) co_return std::nullopt;
  if (waiting.gave_up)
    co_return expired_refusal(query, gate, waited,
                              now >= query.resources.deadline
                                  ? "its deadline has passed"
                                  : "the longest wait is over (ticket_queue_timeout)");
  co_return expired_refusal(query, gate, waited,
                            "it was removed from the queue (ticket_queue_discipline)");
}

}  // namespace

bool try_admit(Query& query) {
  auto* const admission = query.worker.limits.admission;
  if (admission == nullptr) return true;
  const auto mode = admission->mode();
  if (mode == AdmissionMode::off) return true;
  const auto ticket_class = ticket_class_of(query);
  const auto worker = query.worker.loop.index;
  if (ticket_class == TicketClass::exempt) {
    query.resources.ingress_ticket = admission->ingress.exempt(worker, query.record.began);
    return true;
  }
  const auto priority = priority_of(query.request.fields, *admission);
  for (const auto& [gate, ticket] : required_tickets(query, *admission, ticket_class, priority)) {
    ticket = mode == AdmissionMode::enforce
                 ? gate.pool.try_take(worker, priority, query.record.began)
                 : gate.pool.watch(worker, priority, query.record.began);
    if (!ticket) return false;
  }
  if (priority == Priority::low && query.client.admissions != nullptr) ++*query.client.admissions;
  return true;
}

Task<std::optional<Answer>> wait_for_tickets(Query& query) {
  query.waited = true;
  auto& admission = *query.worker.limits.admission;
  const auto priority = priority_of(query.request.fields, admission);
  const auto longest = admission.queue_timeout();
  for (const auto& [gate, ticket] :
       required_tickets(query, admission, ticket_class_of(query), priority)) {
    if (ticket) continue;
    ticket = gate.pool.try_take(query.worker.loop.index, priority, Loop::now());
    if (ticket) continue;
    auto refused = co_await wait_for_ticket(query, gate, ticket, priority, longest);
    if (refused) co_return refused;
  }
  if (priority == Priority::low && query.client.admissions != nullptr) ++*query.client.admissions;
  co_return std::nullopt;
}

std::optional<Answer> early_ticket_refusal(Worker& worker, const RequestHead& head) {
  auto* const admission = worker.limits.admission;
  if (admission == nullptr || admission->mode() != AdmissionMode::enforce ||
      worker.process.access_log != nullptr || !admission->anything_exhausted())
    return std::nullopt;
  const auto ticket_class = ticket_class_of(*worker.topology_now(), head.path);
  if (!ticket_class || *ticket_class == TicketClass::exempt) return std::nullopt;
  const auto priority = priority_of(head, *admission);
  for (const auto& gate :
       {ingress_gate(*admission), work_gate(*admission, *ticket_class, priority)}) {
    if (!gate.pool.exhausted() || asks_for_trace(head)) continue;
    if (gate.pool.refuses(worker.loop.index, priority, Loop::now()))
      return queue_full_refusal(worker, gate);
  }
  return std::nullopt;
}

}  // namespace karmad
