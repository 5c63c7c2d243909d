#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>

#include "balancer/core/worker.hpp"
#include "strategies/time.hpp"

namespace karmad {

/// Sends a sign of life twice in the interval that systemd allows, as long as the loop of every
/// worker turns: each sign needs an answer of all workers. One hung worker ends the signs, and
/// systemd restarts the process. Belongs to the thread of `main`.
class Watchdog {
 public:
  /// Asks one worker: calls the job on its loop, some time.
  using Ask = std::function<void(std::size_t worker, Inbox::Job job)>;

  Watchdog(asio::io_context& main, Micros interval, std::size_t workers, Ask ask,
           std::function<void()> sign_of_life);

  void start();
  /// From now on only this thread's life counts: the workers end, one after the other, within
  /// limits of their own.
  void workers_end() { workers_end_ = true; }
  void stop() { timer_.cancel(); }

 private:
  void tick();
  void ask_workers();

  asio::io_context& main_;
  const Micros every_;
  const std::size_t workers_;
  const Ask ask_;
  const std::function<void()> sign_of_life_;
  asio::steady_timer timer_;
  std::atomic<std::size_t> unanswered_{0};
  bool asking_ = false;
  bool workers_end_ = false;
};

}  // namespace karmad
