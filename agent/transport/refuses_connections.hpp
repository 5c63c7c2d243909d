#pragma once

#include "agent/transport/destination.hpp"
#include "agent/transport/loop/loop.hpp"

namespace karmad {

/// Whether the agent refuses connections at all its addresses: its process has ended. False until
/// that is known, also when a stop is requested.
Task<bool> refuses_connections(Loop& loop, const Destination& agent, Stop& stop);

}  // namespace karmad
