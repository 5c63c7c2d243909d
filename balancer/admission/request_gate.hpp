#pragma once

#include <optional>

#include "balancer/core/query.hpp"
#include "config/address_range.hpp"

namespace karmad {

/// The rate that a request would exceed, and how long until it would not.
struct OverRate {
  enum class Of : std::uint8_t { all, client, table };
  Of of = Of::all;
  Micros until{};
};

/// Whether a request, of which the head is complete and nothing else is known, is too many
/// (AC-050 … AC-055): first of its client's, then of all. What karmad answers itself (`own`),
/// exempt clients and applications (AC-056) and, for the client's rate, unix sockets (no `client`)
/// pass. Where nothing is limited (`limits_requests` of the topology) the call can be skipped.
/// Counts.
std::optional<OverRate> over_rate(Worker& worker, const Topology& topology, const RequestHead& head,
                                  bool own, const std::optional<IpAddress>& client);

/// The same for the requests to one table, once it is known. One branch where it has no rate.
std::optional<OverRate> over_rate(Worker& worker, const Topology& topology, const Table& table);

/// 429 with both labels, code 462 and the time after which it makes sense to come back (BP-015).
Answer too_many_requests(Worker& worker, const OverRate& over);

}  // namespace karmad
