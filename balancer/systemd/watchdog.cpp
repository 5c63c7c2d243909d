#include "balancer/systemd/watchdog.hpp"

#include <boost/asio/post.hpp>

namespace karmad {

Watchdog::Watchdog(asio::io_context& main, Micros interval, std::size_t workers, Ask ask,
                   std::function<void()> sign_of_life)
    : main_(main),
      every_(std::max(interval / 2, Micros{1})),
      workers_(workers),
      ask_(std::move(ask)),
      sign_of_life_(std::move(sign_of_life)),
      timer_(main) {}

void Watchdog::start() {
  tick();
}

void Watchdog::tick() {
  if (workers_end_) {
    sign_of_life_();
  } else if (!asking_) {
    ask_workers();
  }
  timer_.expires_after(every_);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) tick();
  });
}

void Watchdog::ask_workers() {
  asking_ = true;
  unanswered_.store(workers_);
  for (std::size_t i = 0; i < workers_; ++i)
    ask_(i, [this] {
      if (unanswered_.fetch_sub(1) != 1) return;
      asio::post(main_, [this] {
        asking_ = false;
        sign_of_life_();
      });
    });
}

}  // namespace karmad
