#pragma once

#include <optional>

#include "balancer/admission/admission.hpp"
#include "balancer/endpoints.hpp"

namespace karmad {

/// One of the pools of tickets, as those who ask for one know it.
struct TicketGate {
  TicketPool& pool;
  enum class Of : std::uint8_t { all, searches, updates, low_priority };
  Of of = Of::all;

  /// Where its size stands.
  std::string_view setting() const;
};

TicketGate ingress_gate(Admission& admission);
/// `subject`: not exempt.
TicketGate work_gate(Admission& admission, Subject subject, Priority priority);

Priority priority_of(const RequestHead& head, const Admission& admission);

/// 429 for somebody who got no ticket, with both labels, code 462 and how long the line takes
/// (BP-015). Counts.
Answer without_ticket(Worker& worker, const TicketGate& gate, std::string_view reason);
/// The same for whom not even the queue has room; costs two copies.
Answer queue_is_full(Worker& worker, const TicketGate& gate);

/// The answer to a request of which the head is there, if there are no tickets for its like and no
/// room to wait: so that refusing costs next to nothing when most are refused. None for those who
/// may have a ticket, and for those of which it cannot be told by path alone, whose trace somebody
/// wants, or for whom nobody asks: they go the whole way.
std::optional<Answer> refused_at_once(Worker& worker, const RequestHead& head);

}  // namespace karmad
