#pragma once

#include <chrono>
#include <mutex>
#include <string>

#include "agent/mirrors/agent_slots.hpp"
#include "agent/stats/history.hpp"
#include "agent/transport/destination.hpp"

namespace karmad {

/// One remote server, shared by all its mirrors: its address, its current state and its history.
/// Exists as long as the configuration names it; its numbers survive a reload. Every member may be
/// used by any thread unless it says otherwise.
class Agent final : public Destination {
 public:
  Agent(Address where, std::size_t number, unsigned workers, Micros period,
        std::shared_ptr<const DnsSettings> look_ups = std::make_shared<const DnsSettings>())
      : Destination(std::move(where), workers, std::move(look_ups)),
        id(number),
        history(workers, period) {}

  const std::size_t id;  ///< index of its pool in every worker; never reused

  AgentCounters counters;
  AgentSlots slots{counters};  ///< slots for the attempts at this agent
  History history;

  void sent_unasked(unsigned worker, TimePoint now) override {
    history.add(worker, now, {.counter = Counter::wrong_replies});
    counters.errors_in_a_row.fetch_add(1, std::memory_order_relaxed);
    last_error("sent unrequested bytes on an idle connection");
  }

  /// The last error. Takes a lock; used for failures and the status only.
  std::string last_error() const {
    const std::scoped_lock lock(mutex_);
    return last_error_;
  }
  /// When it was set; meaningful with a text.
  std::chrono::system_clock::time_point last_error_at() const {
    const std::scoped_lock lock(mutex_);
    return last_error_at_;
  }
  void last_error(std::string message,
                  std::chrono::system_clock::time_point at = std::chrono::system_clock::now()) {
    const std::scoped_lock lock(mutex_);
    last_error_ = std::move(message);
    last_error_at_ = at;
  }

 private:
  mutable std::mutex mutex_;
  std::string last_error_;
  std::chrono::system_clock::time_point last_error_at_;
};

}  // namespace karmad
