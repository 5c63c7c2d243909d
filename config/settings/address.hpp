#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "config/settings/settings.hpp"
#include "config/settings/units.hpp"

namespace karmad {

/// Default port of agents and of this server.
inline constexpr std::uint16_t kDefaultPort = 9308;

/// A name, an IPv4 address, or an IPv6 address in brackets, in normal form: lower case, without
/// brackets, so that equal hosts have equal texts. Looks nothing up.
std::expected<std::string, Unfit> parse_host(std::string_view text);

/// A decimal number up to 65535.
std::expected<std::uint16_t, Unfit> parse_port(std::string_view text);

/// The path of a unix socket: letters, digits, `_`, `-`, `.`, `/`; at most 107 bytes.
std::expected<std::string, Unfit> parse_unix_path(std::string_view text);

bool is_number(std::string_view text);

/// `file PATH`, `etcd http://HOST:PORT/PREFIX[,http://HOST:PORT …]` or
/// `kubernetes NAMESPACE/SERVICE[:PORT] [http://HOST:PORT]`; also with `https:`.
std::expected<DiscoverySource, Unfit> parse_discovery(std::string_view text);
/// The text that parse_discovery() reads as this source, without the files of its access.
std::string text(const DiscoverySource& source);
/// The source of the table with the files of its access: those that are set, else with `kubernetes`
/// those of the pod's service account. `discovery` must be set.
DiscoverySource source_of(const DiscoverySettings& settings);

/// `address[:port], …`; only IP addresses, at most 8. Port 53 by default.
std::expected<DnsServers, Unfit> parse_dns_servers(std::string_view text);

/// Whether it is an IPv4 or IPv6 address, possibly with a zone.
bool is_ip_address(const std::string& host);
/// Whether it has the form `_service._protocol.rest` of a name with SRV records (RFC 2782).
bool is_srv_name(std::string_view host);
/// What the mirror's name stands for: its `resolve`, or SRV records if the name has that form.
/// `one` for IP addresses and unix sockets.
Resolve resolve_of(const MirrorSettings& mirror);

}  // namespace karmad
