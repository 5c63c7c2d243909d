#include "balancer/pipeline/ticket_gate.hpp"

#include <fmt/format.h>

#include <array>

#include "balancer/core/refusal.hpp"
#include "balancer/core/request_fields.hpp"

namespace karmad {
namespace {

constexpr std::array<std::string_view, 4> kSettings{"ingress_tickets", "search_tickets",
                                                    "update_tickets", "low_priority_tickets"};

unsigned retry_after(const TicketGate& gate) {
  return static_cast<unsigned>(gate.pool.retry_after().count());
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

}  // namespace

std::string_view TicketGate::setting() const {
  return kSettings[static_cast<std::size_t>(kind)];
}

TicketGate ingress_gate(Admission& admission) {
  return {admission.ingress, TicketGate::Kind::all};
}

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

Answer ticket_refusal(Worker& worker, const TicketGate& gate, std::string_view reason) {
  worker.counters.add(Count::tickets_refused);
  return answer_with(overload_refusal(std::string(reason), retry_after(gate)));
}

Answer queue_full_refusal(Worker& worker, const TicketGate& gate) {
  worker.counters.add(Count::tickets_refused);
  return overload_answer(worker, full_body(gate.kind), retry_after(gate));
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
