#include "balancer/pipeline/admitted.hpp"

#include <fmt/format.h>

#include <array>

#include "balancer/admission/admission.hpp"
#include "balancer/endpoints.hpp"
#include "balancer/refusal.hpp"

namespace karmad {
namespace {

constexpr std::string_view kPriority = "X-Priority";

/// The pool of what the query does; `setting` is where its size stands.
struct Gate {
  TicketPool& pool;
  std::string_view setting;
  Ticket& ticket;  ///< the query's
};

Gate ingress_gate(Query& query, Admission& admission) {
  return {admission.ingress, "ingress_tickets", query.ingress_ticket};
}

Gate work_gate(Query& query, Admission& admission, Subject subject, Priority priority) {
  const bool updates = subject == Subject::update;
  if (priority == Priority::low)
    return {updates ? admission.low_updates : admission.low_searches, "low_priority_tickets",
            query.work_ticket};
  if (updates) return {admission.updates, "update_tickets", query.work_ticket};
  return {admission.searches, "search_tickets", query.work_ticket};
}

/// In the order the query meets them. What has low priority gets its own ticket first: a line of
/// work that has time holds no ingress tickets.
std::array<Gate, 2> gates_of(Query& query, Admission& admission, Subject subject,
                             Priority priority) {
  const auto ingress = ingress_gate(query, admission);
  const auto work = work_gate(query, admission, subject, priority);
  if (priority == Priority::low) return {work, ingress};
  return {ingress, work};
}

Priority priority_of(const Query& query, const Admission& admission) {
  return admission.low_priority() && query.head.find(kPriority) == "low" ? Priority::low
                                                                         : Priority::normal;
}

/// Who waits, as long as it does.
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
    if (done || !pool.cancel(*this, Loop::now())) return;  // else it will be woken
    left = true;
    woken();
  }

  TicketPool& pool;
  Signal signal;
  bool done = false;
  bool left = false;  ///< without a ticket
};

Answer refused(Query& query, const Gate& gate, std::string reason) {
  query.worker.counters.add(Count::tickets_refused);
  return answer_with({.status = 429,
                      .type = "overloaded",
                      .reason = std::move(reason),
                      .code = 462,
                      .overloaded = true,
                      .retry_after = static_cast<unsigned>(gate.pool.retry_after().count())});
}

/// Refused after it waited.
Answer refused_after(Query& query, const Gate& gate, Micros waited, std::string_view why) {
  query.worker.counters.add(Count::tickets_expired);
  return refused(
      query, gate,
      fmt::format("waited {} ms for a ticket ({}): {}", waited.count() / 1000, gate.setting, why));
}

Task<std::optional<Answer>> wait_at(Query& query, Gate gate, Priority priority, Micros longest) {
  const auto began = Loop::now();
  Waiting waiting(gate.pool, query, priority);
  switch (gate.pool.ask(waiting, began)) {
    case TicketPool::Asked::admitted:
      gate.ticket = gate.pool.collect(waiting, began);
      co_return std::nullopt;
    case TicketPool::Asked::refused:
      co_return refused(query, gate,
                        fmt::format("all tickets ({}) are taken, and {} requests wait for one "
                                    "already (ticket_queue_depth)",
                                    gate.setting, gate.pool.queue_depth()));
    case TicketPool::Asked::queued:
      break;
  }
  query.worker.counters.add(Count::tickets_waited);
  {
    QueryStop when_over(query);
    Stop& stop = when_over;
    const auto until =
        longest > Micros{0} ? std::min(query.deadline, began + longest) : query.deadline;
    stop.at(until, Why::deadline);
    const Stop::Guard guard(stop, &waiting,
                            [](void* whom) { static_cast<Waiting*>(whom)->leave(); });
    if (stop.requested()) waiting.leave();
    if (!waiting.done) co_await waiting.signal;
  }
  const auto now = Loop::now();
  const auto waited = std::chrono::duration_cast<Micros>(now - began);
  query.trace.queued += waited;
  if (!waiting.left) gate.ticket = gate.pool.collect(waiting, now);
  if (query.client_left) co_return Answer{};
  if (gate.ticket) co_return std::nullopt;
  if (waiting.left)
    co_return refused_after(
        query, gate, waited,
        now >= query.deadline ? "its time is over" : "nobody waits longer (ticket_queue_timeout)");
  co_return refused_after(query, gate, waited, "it made room for others (ticket_queue_discipline)");
}

}  // namespace

bool admitted_at_once(Query& query) {
  auto* const admission = query.worker.process.admission;
  if (admission == nullptr) return true;
  const auto mode = admission->mode();
  if (mode == AdmissionMode::off) return true;
  const auto subject = subject_of(query);
  const auto worker = query.worker.loop.index;
  if (subject == Subject::exempt) {
    query.ingress_ticket = admission->ingress.exempt(worker, query.began);
    return true;
  }
  const auto priority = priority_of(query, *admission);
  for (const auto& gate : gates_of(query, *admission, subject, priority)) {
    gate.ticket = mode == AdmissionMode::enforce ? gate.pool.try_take(worker, priority, query.began)
                                                 : gate.pool.watch(worker, priority, query.began);
    if (!gate.ticket) return false;
  }
  if (priority == Priority::low && query.admissions != nullptr) ++*query.admissions;
  return true;
}

Task<std::optional<Answer>> wait_for_tickets(Query& query) {
  auto& admission = *query.worker.process.admission;
  const auto priority = priority_of(query, admission);
  const auto longest = admission.queue_timeout();
  const auto gates = gates_of(query, admission, subject_of(query), priority);
  for (const auto& gate : gates) {
    if (gate.ticket) continue;
    gate.ticket = gate.pool.try_take(query.worker.loop.index, priority, Loop::now());
    if (gate.ticket) continue;
    auto refused = co_await wait_at(query, gate, priority, longest);
    if (refused) co_return refused;
  }
  if (priority == Priority::low && query.admissions != nullptr) ++*query.admissions;
  co_return std::nullopt;
}

}  // namespace karmad
