#pragma once

#include <expected>
#include <string>
#include <vector>

#include "agent/transport/stream.hpp"
#include "config/settings/settings.hpp"

namespace karmad {

using Endpoints = std::vector<Endpoint>;

/// End points of an address that needs no look-up (IP literal, unix socket); else nothing.
std::optional<Endpoints> literal_endpoints(const Address& address);

/// Looks up a name; blocks until the name server answers.
std::expected<Endpoints, std::string> resolve_now(const Address& address);

/// Looks up a name without blocking the worker. After a stop request the look-up continues on its
/// own and its result is dropped. `blocking` does the work; tests replace it.
Task<std::expected<Endpoints, std::string>> resolve(
    Loop& loop, const Address& address, Stop& stop,
    std::expected<Endpoints, std::string> (*blocking)(const Address&) = resolve_now);

}  // namespace karmad
