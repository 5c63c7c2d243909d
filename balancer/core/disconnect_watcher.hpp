#pragma once

#include <boost/asio/posix/basic_stream_descriptor.hpp>

#include "agent/transport/loop/loop.hpp"

namespace karmad {

/// Notices peers that leave while their connection is not read, whatever they sent before: a read
/// would have to take those bytes first. An epoll instance of its own waits for the peer's end of
/// stream (EPOLLRDHUP) alone, and the loop looks at that instance. One thread.
class DisconnectWatcher {
 public:
  explicit DisconnectWatcher(Loop& loop);

  /// Requests `stop`, once, when the peer of that socket ends its side; until it is forgotten. What
  /// cannot be watched is not: its wait ends all the same.
  void watch(int socket, Stop& stop);
  void forget(int socket);

 private:
  void wait();
  void look();

  asio::posix::basic_stream_descriptor<Executor> epoll_;
  std::size_t watched_ = 0;
  bool waiting_ = false;
};

}  // namespace karmad
