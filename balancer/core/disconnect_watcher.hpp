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

/// Notices that a client closes its connection, or its sending side, while no read is outstanding.
class DisconnectWatch {
 public:
  /// Calls `on_half(target)` once the client sends no more, and `on_whole(target)` once it reads no
  /// more either.
  DisconnectWatch(DisconnectWatcher& watcher, Loop& loop, int socket, void* target,
                  void (*on_half)(void*), void (*on_whole)(void*))
      : watcher_(watcher),
        socket_(socket),
        target_(target),
        on_half_(on_half),
        half_(loop),
        whole_(loop),
        half_guard_(half_, this,
                    [](void* watch) { static_cast<DisconnectWatch*>(watch)->half_closed(); }),
        whole_guard_(whole_, target, on_whole) {
    watcher_.watch(socket_, half_);
  }
  DisconnectWatch(const DisconnectWatch&) = delete;
  DisconnectWatch& operator=(const DisconnectWatch&) = delete;
  ~DisconnectWatch() { watcher_.forget(socket_); }

 private:
  void half_closed() {
    watcher_.forget(socket_);
    watcher_.watch(socket_, whole_, DisconnectWatcher::End::of_both);
    on_half_(target_);
  }

  DisconnectWatcher& watcher_;
  const int socket_;
  void* const target_;
  void (*const on_half_)(void*);
  Stop half_;
  Stop whole_;
  Stop::Guard half_guard_;
  Stop::Guard whole_guard_;
};

}  // namespace karmad
