#pragma once

#include <boost/asio/basic_socket_acceptor.hpp>
#include <expected>
#include <list>
#include <string>
#include <vector>

#include "balancer/core/client_connection.hpp"
#include "balancer/core/worker.hpp"
#include "config/settings/address_range.hpp"
#include "config/settings/socket_access.hpp"

namespace karmad {

/// A listening socket, opened before any worker runs; it is a descriptor until a worker takes it.
struct Listening {
  int descriptor = -1;
  Protocol protocol{0, 0};
  ListenerKind kind;
};

/// Opens `listen` for that many workers, each with a socket of its own (SO_REUSEPORT), so that the
/// kernel spreads connections. SO_REUSEPORT would hide a port that another process uses, so a
/// plain bind checks it first. `port` 0 becomes the port that the kernel chose. No host or `*`: one
/// socket for IPv6 and IPv4, or for IPv4 alone where there is no IPv6. `access`: of a unix socket.
/// On failure: the error.
std::expected<std::vector<Listening>, std::string> open_listeners(Address& address,
                                                                  unsigned workers, int backlog,
                                                                  const SocketAccess& access);

/// Sets owner and mode of a unix socket. False: errno says why not.
bool set_access(const char* path, const SocketAccess& access);

/// Accepts the connections of one listening socket on one worker. With a rate of connections
/// (AC-040 … AC-043), connections above it wait here; all acceptors share the bound of the queue.
class Acceptor {
 public:
  Acceptor(Worker& worker, const Listening& listening);
  void start() { spawn(run()); }
  /// Another process has the same listening socket and accepts from it: refuse_new() must leave the
  /// socket as it is. Call before that.
  void hand_over() { handed_over_ = true; }
  int descriptor() { return acceptor_.native_handle(); }
  /// Accepts no new connections: handshakes in progress may end, and connections that wait because
  /// of the rate start their sessions now.
  void refuse_new();
  /// Accepts the waiting connections, and closes the socket.
  void stop();

 private:
  struct NewConnection {
    Socket socket;
    Endpoint peer;
    std::optional<IpAddress> address;  ///< none for a unix socket
  };
  void close();
  Task<void> run();
  std::expected<unsigned, error_code> accept_pending();
  void on_connection(NewConnection connection);
  void on_admin_connection(NewConnection connection);
  void admit_by_rate(NewConnection connection, const InstanceSettings& settings);
  Task<void> wait_for_token(NewConnection connection, RateLimiter::Reservation reservation,
                            TimePoint until);
  class HeaderReader;
  void start_session(NewConnection connection);
  boost::intrusive_ptr<ClientConnection> start_session(Socket socket, ClientAddress client);
  struct RefusalBytes;
  void refuse(NewConnection& connection, const RefusalBytes& bytes) const;

  Worker& worker_;
  const Protocol protocol_;
  const ListenerKind kind_;
  asio::basic_socket_acceptor<Protocol, Executor> acceptor_;
  Stop pause_;
  std::list<Stop*> waiting_;  ///< of the connections that wait
  bool draining_ = false;
  bool handed_over_ = false;
};

}  // namespace karmad
