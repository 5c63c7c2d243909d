#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace karmad {

/// The protocol of a peer, as its first bytes show it.
struct WireProtocol {
  enum class Kind : std::uint8_t { http, http2, tls, proxy, mysql, ssh, redis };

  Kind kind{};
  std::string detail;  ///< what the bytes are, in printable ASCII; may be empty

  std::string_view name() const;
  /// For messages: `MySQL (a greeting of 8.0.33)`.
  std::string text() const;
  bool operator==(const WireProtocol&) const = default;
};

/// The protocol of which these are the first bytes that one side of a connection sends. `http`: a
/// request. Nothing: too few bytes, or another protocol. The bytes may be hostile.
std::optional<WireProtocol> recognize_protocol(std::string_view bytes);

/// A short beginning of `bytes` for a message, with `?` for what is not printable ASCII.
std::string printable(std::string_view bytes, std::size_t longest = 40);

}  // namespace karmad
