#pragma once

#include <boost/asio/basic_socket_acceptor.hpp>
#include <expected>
#include <memory>
#include <string>
#include <vector>

#include "balancer/worker.hpp"

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

/// Accepts the connections of one listening socket on one worker.
class Acceptor {
 public:
  Acceptor(Worker& worker, const Listening& listening);
  void start();
  void stop();

 private:
  Task<void> run();

  Worker& worker_;
  asio::basic_socket_acceptor<Protocol, Executor> acceptor_;
  Stop pause_;
};

}  // namespace karmad
