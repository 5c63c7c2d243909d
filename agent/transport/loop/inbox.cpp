#include "agent/transport/loop/inbox.hpp"

#include <sys/eventfd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace karmad {
namespace {

int make_event() {
  const int event = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (event < 0) throw std::system_error(errno, std::system_category(), "eventfd");
  return event;
}

}  // namespace

Inbox::Inbox(boost::asio::io_context& io) : io_(io), event_(io.get_executor(), make_event()) {
  wait();
}

void Inbox::put(Job job) {
  {
    const std::scoped_lock lock(mutex_);
    jobs_.push_back(std::move(job));
    if (jobs_.size() > 1) return;  // a wake-up is already pending
  }
  ::eventfd_write(event_.native_handle(), 1);
}

void Inbox::let_end() {
  // Asio counts the wait below as work and ends the loop without work; this subtracts it.
  if (!std::exchange(may_end_, true)) io_.get_executor().on_work_finished();
}

void Inbox::wait() {
  event_.async_wait(boost::asio::posix::descriptor_base::wait_read,
                    [this](boost::system::error_code error) {
                      if (error) return;  // the inbox is being destroyed
                      eventfd_t unused = 0;
                      ::eventfd_read(event_.native_handle(), &unused);
                      wait();
                      work_off();
                    });
}

void Inbox::work_off() {
  {
    const std::scoped_lock lock(mutex_);
    at_hand_.swap(jobs_);
  }
  for (auto& job : at_hand_) job();
  at_hand_.clear();
}

}  // namespace karmad
