#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "config/settings/address_range.hpp"

namespace karmad {

/// A header of the PROXY protocol, with which a proxy begins a connection.
struct ProxyHeader {
  std::size_t size = 0;  ///< in bytes; what the client sends follows
  /// None: the proxy speaks for itself (LOCAL), or does not know the client's address as an IP
  /// address (UNKNOWN, unix sockets).
  std::optional<IpAddress> client;
  std::uint16_t port = 0;
  bool operator==(const ProxyHeader&) const = default;
};

/// The shortest header; so many bytes may be read before anything is known.
inline constexpr std::size_t kShortestProxyHeader = 15;

/// Reads the header at the beginning of `bytes`, of version 1 or 2, of at most `longest` bytes.
/// Nothing: it is not complete, and all of the bytes belong to it. TLVs are skipped. The error says
/// what is wrong; the bytes may be hostile.
std::expected<std::optional<ProxyHeader>, std::string> read_proxy_header(std::string_view bytes,
                                                                         std::size_t longest);

}  // namespace karmad
