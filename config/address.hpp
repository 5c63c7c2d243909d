#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "config/settings.hpp"
#include "config/units.hpp"

namespace karmad {

/// Where agents and this server listen unless the configuration says otherwise.
inline constexpr std::uint16_t kDefaultPort = 9308;

/// A name, an IPv4 address, or an IPv6 address in brackets, each in the one form that equal hosts
/// share: lower case, without brackets. Nothing is looked up.
std::expected<std::string, Unfit> parse_host(std::string_view text);

/// A decimal number up to 65535.
std::expected<std::uint16_t, Unfit> parse_port(std::string_view text);

/// The path of a unix socket: letters, digits, `_`, `-`, `.`, `/`; at most 107 bytes.
std::expected<std::string, Unfit> parse_unix_path(std::string_view text);

bool is_number(std::string_view text);

}  // namespace karmad
