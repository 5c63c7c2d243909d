#include "balancer/core/wrong_protocol.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "balancer/core/listening_socket.hpp"
#include "config/settings/address_range.hpp"

namespace karmad {
namespace {

using Kind = WireProtocol::Kind;

/// The address at which the listener has accepted the connection.
std::string listener_of(Socket& socket) {
  auto local = local_address(socket.native_handle());
  if (!local) return "(closed)";
  if (const auto ip = parse_address(local->host)) local->host = text(*ip);  // IPv4 within IPv6
  return text(*local);
}

/// What would be right instead.
std::string_view wrong_protocol_advice(Kind spoken, ListenerProtocol listener) {
  const bool mysql = listener == ListenerProtocol::mysql;
  switch (spoken) {
    case Kind::tls:
      return mysql ? "set tls_certificate, or connect without TLS (ssl-mode = DISABLED)"
                   : "use http://, or a listener with :https (tls_certificate)";
    case Kind::http2:
      return mysql ? "HTTP needs a listen line of its own"
                   : "use HTTP/1.1, which clients do without prior knowledge of HTTP/2";
    case Kind::proxy:
      return mysql ? "switch the PROXY protocol off for this port (send-proxy, proxy_protocol), or "
                     "listen with :mysql,proxy"
                   : "switch the PROXY protocol off for this port (send-proxy, proxy_protocol), or "
                     "listen with :http,proxy";
    case Kind::http:
      return "HTTP needs a listen line of its own";
    default:
      return mysql ? "the port is for clients of MySQL" : "the port is for clients of HTTP";
  }
}

/// Logs what a client did, unless there were too many such lines.
template <class Did>
void warn_of(Worker& worker, std::string_view client, const Did& did) {
  const auto left_out = worker.protocol_lines.may_write(Loop::now());
  if (!left_out) return;
  spdlog::warn(
      "{} {}{}", client.empty() ? "a client" : fmt::format("client {}", client), did(),
      *left_out == 0 ? "" : fmt::format(" ({} more since the last such message)", *left_out));
}

}  // namespace

std::string wrong_protocol_refusal(const WireProtocol& spoken, ListenerProtocol listener) {
  const std::string_view own = listener == ListenerProtocol::mysql ? "the MySQL protocol"
                               : spoken.kind == Kind::tls          ? "plain HTTP"
                                                                   : "HTTP/1.1";
  return fmt::format("this is {}, but the port speaks {}", spoken.name(), own);
}

std::string_view http2_refusal() {
  using namespace std::string_view_literals;
  constexpr auto kBytes =
      "\0\0\0\x04\0\0\0\0\0"    // SETTINGS, which a server sends first
      "\0\0\x1e\x07\0\0\0\0\0"  // GOAWAY with 30 bytes
      "\0\0\0\0"                // no stream was processed
      "\0\0\0\x0d"              // HTTP_1_1_REQUIRED
      "karmad speaks HTTP/1.1"sv;
  return kBytes;
}

void report_wrong_protocol(Worker& worker, std::string_view client, Socket& socket,
                           const WireProtocol& spoken, ListenerProtocol listener) {
  worker.counters.add(Count::wrong_protocols);
  warn_of(worker, client, [&] {
    return fmt::format("spoke {} to the {} listener {}: {}", spoken.text(),
                       listener == ListenerProtocol::mysql ? "MySQL" : "plain HTTP",
                       listener_of(socket), wrong_protocol_advice(spoken.kind, listener));
  });
}

void report_tls_failure(Worker& worker, std::string_view client, Socket& socket,
                        std::string_view why) {
  worker.counters.add(Count::tls_failures);
  warn_of(worker, client,
          [&] { return fmt::format("could not begin TLS at {}: {}", listener_of(socket), why); });
}

void report_proxy_header(Worker& worker, std::string_view peer, Socket& socket,
                         std::string_view why) {
  worker.counters.add(Count::proxy_headers_refused);
  warn_of(worker, peer, [&] {
    return fmt::format("was disconnected from the listener {} with ,proxy: {}", listener_of(socket),
                       why);
  });
}

}  // namespace karmad
