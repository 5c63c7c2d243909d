#pragma once

#include <expected>
#include <memory>
#include <string>
#include <vector>

#include "agent/transport/dns.hpp"
#include "agent/transport/stream.hpp"
#include "config/settings/settings.hpp"

namespace karmad {

using Endpoints = std::vector<Endpoint>;

/// End points of an address that needs no look-up (IP literal, unix socket); else nothing.
std::optional<Endpoints> literal_endpoints(const Address& address);

/// Looks up a name; blocks as look_up_addresses() does.
std::expected<Endpoints, std::string> resolve_now(const Address& address,
                                                  const DnsSettings& settings = {});
/// The error of a look-up, as a sentence.
std::string look_up_failure(const std::string& host, const std::string& why);

/// Looks up a name without blocking the worker. After a stop request the look-up continues on its
/// own and its result is dropped.
Task<std::expected<Endpoints, std::string>> resolve(Loop& loop, const Address& address, Stop& stop,
                                                    std::shared_ptr<const DnsSettings> settings);

}  // namespace karmad
