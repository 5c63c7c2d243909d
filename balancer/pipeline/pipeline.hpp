#pragma once

#include <optional>

#include "agent/transport/loop/memory_limit.hpp"
#include "balancer/core/query.hpp"
#include "config/settings/address_range.hpp"

namespace karmad {

// The order of all steps of a request: first those that need only its head, then those that
// need the query, which exists once the body is complete.

/// A request whose head is complete.
struct ArrivedHead {
  Worker& worker;
  const Topology& topology;
  const RequestHead& head;
  const std::optional<IpAddress>& client;  ///< none: a unix socket
  MemoryHolder& memory;                    ///< for the memory of the request
  bool body_arrived;                       ///< completely, or the request has none
  bool on_admin_port = false;              ///< exempt from rates, memory and tickets
};

/// The answer to a request that is not served.
struct EarlyRefusal {
  Answer answer;
  bool ends_connection = false;  ///< false: its body is read and dropped
};

/// The steps on a head: request rates, size of the body, memory for it, tickets. Returns the first
/// refusal, which is counted by its cause.
std::optional<EarlyRefusal> refuse_on_head(const ArrivedHead& request);

/// The refusal of a request without the credentials that its listener wants, or none. `client`: its
/// address as text. `/healthz` and `/readyz` need none. May wait for a helper thread. The arguments
/// must outlive the task.
Task<std::optional<EarlyRefusal>> refuse_client(const ArrivedHead& request, const ClientAuth& auth,
                                                std::string_view client);

/// The refusal of a request for a path that nothing answers, whose body is not worth reading. Asked
/// after its credentials: the answer tells which paths there are.
std::optional<EarlyRefusal> refuse_path(const ArrivedHead& request);

/// Whether the body of a request that is accepted is passed on while it arrives: it is longer than
/// `request_buffer_size` or of unknown length, it goes to one mirror only, and its dialect does not
/// read it.
bool streams_body(const ArrivedHead& request);

/// The steps of a query: tickets, the application's handles, route, and in scatter_gather() the
/// request rate of its table, then the shards.
Task<Answer> pass_pipeline(Query& query);

}  // namespace karmad
