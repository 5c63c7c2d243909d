#pragma once

#include <optional>

#include "agent/transport/loop/memory_limit.hpp"
#include "balancer/core/query.hpp"
#include "config/settings/address_range.hpp"

namespace karmad {

/// The rate limit that a request exceeds, and the time until the limit would admit it.
struct OverRate {
  enum class Limit : std::uint8_t { all, client, table };
  Limit limit = Limit::all;
  Micros until{};
};

/// Checks a request against the rate limits once its head is complete (AC-050 … AC-055): first the
/// limit of its client, then the one of all requests. Not limited are requests that karmad answers
/// itself (`about_karmad`), exempt clients and applications (AC-056) and, for the client's limit,
/// unix sockets (no `client`). May be skipped if Topology::limits_requests is false. Counts the
/// request.
std::optional<OverRate> over_rate(Worker& worker, const Topology& topology, const Head& fields,
                                  bool about_karmad, const std::optional<IpAddress>& client);

/// The same for the limit of its table. Costs one branch if the table has none.
std::optional<OverRate> over_rate(Worker& worker, const Topology& topology, const Table& table);

/// Whether a request that counts for the value of `client_request_header` has several: its sender
/// would choose which one is used up.
bool names_two_clients(const Topology& topology, const Head& fields);

/// 429 with both labels, code 462, and the time after which a retry makes sense (BP-015).
Answer too_many_requests(Worker& worker, const OverRate& over);

/// The answer to a request that was denied memory (`memory_limit`). 429 with both labels, code 462
/// and Retry-After if the request may be retried: it was refused before any work, or it only reads.
/// Otherwise 503 without labels, because an update may have taken effect.
Answer memory_refusal(const MemoryLimit& limit, MemoryDenial why, bool repeatable);

/// Counts a denial.
void count_denial(Counters& counters, MemoryDenial why);

}  // namespace karmad
