#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <utility>

#include "strategies/time.hpp"

namespace karmad {

/// Measures how fast a pool without free tickets returns them, for Retry-After of refused requests.
/// Remembers about five seconds of full use. One thread calls sample(), any thread wait().
class DrainRate {
 public:
  static constexpr std::chrono::seconds kLongest{30};

  /// Called periodically: the tickets returned since the start, and whether no ticket is free. Only
  /// time between two busy calls counts: when tickets are free, their rate says nothing.
  void sample(std::uint64_t finished, bool busy, TimePoint now) noexcept {
    const double time = std::chrono::duration<double>(now - looked_).count();
    const auto served = static_cast<double>(finished - finished_);
    looked_ = now;
    finished_ = finished;
    if (!std::exchange(busy_, busy) || !busy || time <= 0) return;
    const double kept = kMemory / (kMemory + time);
    served_ = served_ * kept + served;
    time_ = time_ * kept + time;
    // While no ticket has come back, assume that one comes now.
    per_second_.store(std::max(served_, 1.0) / time_, std::memory_order_relaxed);
  }

  /// Time until a new request may get a ticket behind `waiting` others: whole seconds, at least 1,
  /// also while the rate is unknown, at most kLongest.
  std::chrono::seconds wait(std::uint64_t waiting) const noexcept {
    const auto rate = per_second_.load(std::memory_order_relaxed);
    const auto seconds = rate > 0 ? (static_cast<double>(waiting) + 1) / rate : 1.0;
    const auto longest = static_cast<double>(kLongest.count());
    return std::chrono::seconds(
        static_cast<std::int64_t>(std::clamp(std::ceil(seconds), 1.0, longest)));
  }

 private:
  static constexpr double kMemory = 5;  // seconds

  TimePoint looked_{};
  std::uint64_t finished_ = 0;
  bool busy_ = false;
  double served_ = 0;
  double time_ = 0;
  std::atomic<double> per_second_{0};
};

}  // namespace karmad
