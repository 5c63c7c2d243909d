#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "agent/transport/http/wire_protocol.hpp"
#include "balancer/core/worker.hpp"

namespace karmad {

/// The protocol of a listener.
enum class ListenerProtocol : std::uint8_t { http, mysql };

/// The text for a client that speaks another protocol than its listener.
std::string wrong_protocol_refusal(const WireProtocol& spoken, ListenerProtocol listener);
/// The bytes that tell a client of HTTP/2 to use HTTP/1.1 (RFC 9113): many libraries show the text.
std::string_view http2_refusal();

/// Counts such a client, and logs it with a limited number of lines per second. `client`: its
/// address; empty for a unix socket. `socket`: its connection.
void report_wrong_protocol(Worker& worker, std::string_view client, Socket& socket,
                           const WireProtocol& spoken, ListenerProtocol listener);
/// The same for a client with which TLS has failed.
void report_tls_failure(Worker& worker, std::string_view client, Socket& socket,
                        std::string_view why);

/// Counts a connection that ended because of its PROXY header, and logs it likewise. `peer`: its
/// address, that of a proxy.
void report_proxy_header(Worker& worker, std::string_view peer, Socket& socket,
                         std::string_view why);

}  // namespace karmad
