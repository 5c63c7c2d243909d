#pragma once

#include <optional>

#include "balancer/admission/admission.hpp"
#include "balancer/endpoints/endpoints.hpp"

namespace karmad {

/// A pool of tickets and its kind.
struct TicketGate {
  TicketPool& pool;
  enum class Kind : std::uint8_t { all, searches, updates, low_priority };
  Kind kind = Kind::all;

  /// Name of the setting with the size of the pool.
  std::string_view setting() const;
};

TicketGate ingress_gate(Admission& admission);
/// `ticket_class`: not exempt.
TicketGate work_gate(Admission& admission, TicketClass ticket_class, Priority priority);

Priority priority_of(const Head& fields, const Admission& admission);

/// 429 for a request without a ticket, with both labels, code 462 and the expected wait (BP-015).
/// Counts.
Answer ticket_refusal(Worker& worker, const TicketGate& gate, std::string_view reason);
/// The same if the queue is full; costs two copies of strings.
Answer queue_full_refusal(Worker& worker, const TicketGate& gate);

/// The refusal of a request whose head was read, if its kind has no ticket left and no room to
/// wait. It is cheap, since under overload most requests are refused. None for a request that may
/// get a ticket, needs none, has a trace consumer, or whose ticket class does not follow from the
/// path alone: these take the full pipeline.
std::optional<Answer> early_ticket_refusal(Worker& worker, const RequestHead& head);

}  // namespace karmad
