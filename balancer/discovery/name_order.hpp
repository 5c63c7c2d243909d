#pragma once

#include <vector>

#include "agent/transport/dns.hpp"
#include "balancer/discovery/found.hpp"

namespace karmad {

// Which mirrors an answer of a name server stands for. Pure; equal answers give equal results,
// whatever their order.

/// One per address, in order.
std::vector<NamedMirror> mirrors_at(std::vector<HostAddress> addresses);

/// One per address of each target. The targets with the lowest priority have their weights, at
/// least 1 and scaled if one is larger than karmad's highest; all others have 0, so that they are
/// asked only if no other mirror suits (RFC 2782). Priorities without any address do not count.
std::vector<NamedMirror> mirrors_of(const std::vector<SrvTarget>& targets);

}  // namespace karmad
