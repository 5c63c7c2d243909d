// How the server ends: after a signal, or after another process took over.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <csignal>

#include "balancer/server.hpp"

namespace karmad {
namespace {

constexpr int kEndedAtOnce = 1;

[[noreturn]] void end_at_once() {
  spdlog::default_logger()->flush();
  std::_Exit(kEndedAtOnce);
}

}  // namespace

void Server::stop(int signal) {
  if (std::exchange(signalled_, true)) {
    spdlog::warn("second signal to stop: the process exits now");
    end_at_once();
  }
  if (stopping_) return spdlog::info("the process is ending already: it was taken over");
  takeover_service_.reset();  // ends a takeover in progress, unless the successor is ready
  if (handed_over_) return after_release();
  stopping_ = true;
  discovery_->stop();
  finder_->stop();
  if (watchdog_) watchdog_->workers_end();
  tell_service(stopping_text("ending the requests in progress"));
  leave_stored_sockets();
  shared_.monitoring.draining.store(true, std::memory_order_relaxed);
  const auto delay = topology_->settings.drain_delay.value;
  if (signal != SIGTERM || delay == Micros{0}) return close_down();
  spdlog::info(
      "TERM: /readyz answers 503; requests and connections are accepted for another {} ms "
      "(drain_delay)",
      delay.count() / 1000);
  add_event(OperatorEvent::Kind::stopping, "karmad stops after drain_delay");
  for (auto& worker : workers_) worker->post([&w = *worker] { w.retire(); });
  shutdown_timer_.expires_after(delay);
  shutdown_timer_.async_wait([this](error_code error) {
    if (!error) close_down();
  });
}

void Server::close_down() {
  const auto longest = topology_->settings.shutdown_timeout.value;
  spdlog::info("stopping; requests in progress have {} ms to end", longest.count() / 1000);
  add_event(OperatorEvent::Kind::stopping, "karmad stops after the requests in progress");
  const auto linger = std::min(topology_->settings.shutdown_linger.value, longest);
  for (auto& worker : workers_) worker->post([&w = *worker, linger] { w.drain(linger); });
  shutdown_timer_.expires_after(longest);
  shutdown_timer_.async_wait([this](error_code error) {
    if (error) return;
    spdlog::warn("shutdown_timeout is over: requests still in progress are cancelled");
    for (auto& worker : workers_) worker->post([&w = *worker] { w.abandon(); });
    shutdown_timer_.expires_after(1s);
    shutdown_timer_.async_wait([](error_code cancelled) {
      if (cancelled) return;
      spdlog::error("the shutdown did not complete: the process exits now");
      end_at_once();
    });
  });
}

}  // namespace karmad
