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

}  // namespace karmad
