#pragma once

#include <string>
#include <utility>

#include "balancer/core/worker.hpp"

namespace karmad {

/// Whether queries can be answered, as seen by `worker`: no `draining`, and every shard of `only`,
/// or of every table that is required, has a live mirror; if mirrors have roles or tags, one that
/// suits a search without a read preference. The body names what is missing, of `only` or of all
/// tables.
std::pair<bool, std::string> readiness(const Topology& topology, bool draining, unsigned worker,
                                       const Table* only = nullptr);

/// What an operator has to know of the certificates for clients: their files as they are now cannot
/// be used, or, in the last two weeks, one expires; changes once a day then. Empty: nothing.
std::string certificate_warning(const TlsServer& certificates,
                                std::chrono::system_clock::time_point now);

/// Has answered at least once (if it is pinged) and is not dead (HA-022).
bool live(const Agent& agent, const HealthSettings& settings);

}  // namespace karmad
