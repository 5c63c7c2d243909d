#pragma once

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

}  // namespace karmad
