#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "agent/transport/http/http_head.hpp"
#include "config/settings/address_range.hpp"

namespace karmad {

// Clients behind proxies: who they are, and what agents are told of the way of a request. Pure; all
// bytes of clients may be hostile.

/// The address of a client.
struct ClientAddress {
  std::string text;                 ///< empty: a unix socket
  std::optional<IpAddress> number;  ///< none likewise
  std::uint16_t port = 0;           ///< 0: not known
  bool told = false;                ///< by a proxy: it is not the peer of the connection

  /// Of an address that a proxy told.
  static ClientAddress of(const IpAddress& address, std::uint16_t port = 0) {
    return {.text = karmad::text(address), .number = address, .port = port, .told = true};
  }
};

/// Whether what a peer says of its clients counts. Unix sockets (no address) are trusted as soon as
/// any proxy is.
bool is_trusted(const AddressRanges& trusted, const std::optional<IpAddress>& peer);

/// The client of a request that a trusted proxy has sent: the last address in X-Forwarded-For that
/// is none of a trusted proxy, or the first one if all are. Behind an element that is no address
/// nothing counts. Forwarded (RFC 7239) is read only in a request without X-Forwarded-For: a proxy
/// that writes one of them passes its client's other one on. None: the peer itself is the client.
std::optional<IpAddress> forwarded_client(const Head& fields, const AddressRanges& trusted);

/// Who has sent a request to karmad.
struct ForwardedBy {
  std::string_view peer;  ///< its address; empty: a unix socket
  bool trusted = false;   ///< what it says in the same fields counts
  std::string_view proto = "http";
};

/// The values of the fields X-Forwarded-… and Forwarded for agents. Views live as long as the
/// fields of the request, what they are made from, and this.
struct ForwardedFields {
  /// `fields`: of the client. Allocates nothing unless the peer is trusted or has sent Forwarded.
  ForwardedFields(const Head& fields, const ForwardedBy& by);
  ForwardedFields& operator=(ForwardedFields&&) = delete;

  std::string_view addresses;  ///< X-Forwarded-For
  std::string_view proto;      ///< X-Forwarded-Proto
  std::string_view host;       ///< X-Forwarded-Host; empty: the request has no Host
  std::string forwarded;       ///< Forwarded; empty: the client sent none

 private:
  std::string chain_;
};

}  // namespace karmad
