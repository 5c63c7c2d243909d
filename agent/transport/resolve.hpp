#pragma once

#include <expected>
#include <string>
#include <vector>

#include "agent/transport/stream.hpp"
#include "config/settings.hpp"

namespace karmad {

using Endpoints = std::vector<Endpoint>;

/// The end points of an address that need no look-up (IP literals, unix sockets), else nothing.
std::optional<Endpoints> literal_endpoints(const Address& address);

/// Looks a name up, blocking. For the start only.
std::expected<Endpoints, std::string> resolve_now(const Address& address);

/// Looks a name up without blocking the worker, until a stop is requested.
Task<std::expected<Endpoints, std::string>> resolve(Loop& loop, const Address& address, Stop& stop);

}  // namespace karmad
