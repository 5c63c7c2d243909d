#pragma once

#include <boost/asio/basic_socket_acceptor.hpp>
#include <expected>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "balancer/core/worker.hpp"
#include "config/address_range.hpp"

namespace karmad {

/// A socket that listens, opened before any worker runs; a descriptor until a worker takes it.
struct Listening {
  int descriptor = -1;
  Protocol protocol{0, 0};
};

/// Opens `listen` for that many workers, each with a socket of its own (SO_REUSEPORT), so that the
/// kernel spreads connections. SO_REUSEPORT would hide a port that another process uses: a plain
/// bind looks first. `port` 0 becomes the port the kernel chose. On failure: what went wrong.
std::expected<std::vector<Listening>, std::string> open_listeners(Address& address,
                                                                  unsigned workers, int backlog);

/// Accepts the connections of one listening socket on one worker. Where there is a rate of them
/// (AC-040 … AC-043), those over it wait here, in a queue that all acceptors share the places of.
class Acceptor {
 public:
  Acceptor(Worker& worker, const Listening& listening);
  void start();
  /// No new connections: handshakes that have begun may end, those that wait for their turn by the
  /// rate are let in now.
  void refuse_new();
  /// Accepts the connections that are there, and closes.
  void stop();

 private:
  struct Arrival {
    Socket socket;
    Endpoint peer;
    std::optional<IpAddress> address;  ///< none: a unix socket
  };
  Task<void> run();
  std::expected<unsigned, error_code> accept_those_waiting();
  void arrived(Arrival arrival);
  void let_in_by_rate(Arrival arrival, const InstanceSettings& settings);
  Task<void> wait(Arrival arrival, RateLimiter::Reservation turn, TimePoint until);
  void begin(Arrival arrival);

  Worker& worker_;
  const Protocol protocol_;
  asio::basic_socket_acceptor<Protocol, Executor> acceptor_;
  Stop pause_;
  std::list<Stop*> waiting_;  ///< the ends of their waits
  bool draining_ = false;
};

}  // namespace karmad
