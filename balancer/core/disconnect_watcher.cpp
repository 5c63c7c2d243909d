#include "balancer/core/disconnect_watcher.hpp"

#include <sys/epoll.h>

namespace karmad {

DisconnectWatcher::DisconnectWatcher(Loop& loop)
    : epoll_(loop.io.get_executor(), ::epoll_create1(EPOLL_CLOEXEC)) {}

void DisconnectWatcher::watch(int socket, Stop& stop, End end) {
  epoll_event event{};
  event.events = EPOLLONESHOT;  // EPOLLHUP and EPOLLERR are always told
  if (end == End::of_sending) event.events |= EPOLLRDHUP;
  event.data.ptr = &stop;
  ++watched_;
  ::epoll_ctl(epoll_.native_handle(), EPOLL_CTL_ADD, socket, &event);
  wait();
}

void DisconnectWatcher::forget(int socket) {
  epoll_event unused{};
  ::epoll_ctl(epoll_.native_handle(), EPOLL_CTL_DEL, socket, &unused);
  // An outstanding wait would keep the loop from ending.
  if (--watched_ == 0) epoll_.cancel();
}

void DisconnectWatcher::wait() {
  if (waiting_ || watched_ == 0) return;
  waiting_ = true;
  epoll_.async_wait(asio::posix::descriptor_base::wait_read,
                    [this](boost::system::error_code error) {
                      waiting_ = false;
                      if (!error) poll();
                      wait();
                    });
}

/// One event at a time: the stopped code continues at once and calls forget().
void DisconnectWatcher::poll() {
  epoll_event event{};
  while (::epoll_wait(epoll_.native_handle(), &event, 1, 0) == 1)
    static_cast<Stop*>(event.data.ptr)->request(StopReason::cancelled);
}

}  // namespace karmad
