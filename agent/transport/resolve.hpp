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

/// Looks a name up, which blocks for as long as the name server takes.
std::expected<Endpoints, std::string> resolve_now(const Address& address);

/// Looks a name up without blocking the worker, until a stop is requested; the look-up is then left
/// alone, and nothing waits for its end. `blocking` does the work; tests have their own.
Task<std::expected<Endpoints, std::string>> resolve(
    Loop& loop, const Address& address, Stop& stop,
    std::expected<Endpoints, std::string> (*blocking)(const Address&) = resolve_now);

}  // namespace karmad
