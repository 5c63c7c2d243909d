#pragma once

#include <boost/asio/ip/address.hpp>
#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <vector>

#include "agent/transport/stream.hpp"
#include "config/settings/settings.hpp"

namespace karmad {

/// How names are looked up (`dns_servers`, `dns_timeout`, `dns_tries`).
struct DnsSettings {
  DnsServers servers;  ///< empty: those of the system
  Micros timeout = kDefaultSettings.dns_timeout.value;
  unsigned tries = kDefaultSettings.dns_tries.value;
};

using HostAddress = boost::asio::ip::address;

/// A target of SRV records (RFC 2782).
struct SrvTarget {
  std::uint16_t priority = 0;
  std::uint16_t weight = 0;
  std::uint16_t port = 0;
  std::vector<HostAddress> addresses;  ///< of its name; empty: it was not found
};

/// Most addresses, and most SRV records, that are read from one answer.
inline constexpr std::size_t kMostRecords = 512;
/// Longest duration of a look-up, whatever the settings say.
inline constexpr Micros kLongestLookUp = 30s;

// Both block until the name servers have answered, at most kLongestLookUp, and never throw for any
// answer. They read /etc/hosts first. Any thread. The error is a phrase such as `Domain name not
// found`.

/// The IPv4 and IPv6 addresses of a name, those that this machine prefers first; never empty.
std::expected<std::vector<HostAddress>, std::string> look_up_addresses(const std::string& host,
                                                                       const DnsSettings& settings);
/// The targets of the name's SRV records with their addresses; one of them has an address.
std::expected<std::vector<SrvTarget>, std::string> look_up_srv(const std::string& name,
                                                               const DnsSettings& settings);

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
