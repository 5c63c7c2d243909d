#pragma once

#include <boost/asio/posix/basic_stream_descriptor.hpp>

#include "agent/transport/loop/loop.hpp"

namespace karmad {

/// Detects that peers have closed while their connection is not read. A read would have to take the
/// bytes before the end of stream, so a separate epoll instance waits for EPOLLRDHUP only, and the
/// loop waits for that instance. One thread.
class DisconnectWatcher {
 public:
  explicit DisconnectWatcher(Loop& loop);

  /// Which end of a connection is waited for: of what the peer sends, or of both directions.
  enum class End : bool { of_sending, of_both };

  /// Requests `stop` once at that end, until forget(). If the socket cannot be watched, the wait
  /// ends without this signal, by its deadline.
  void watch(int socket, Stop& stop, End end = End::of_sending);
  void forget(int socket);

 private:
  void wait();
  void poll();

  asio::posix::basic_stream_descriptor<Executor> epoll_;
  std::size_t watched_ = 0;
  bool waiting_ = false;
};

}  // namespace karmad
