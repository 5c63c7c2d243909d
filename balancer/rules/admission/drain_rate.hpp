#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <utility>

#include "strategies/time.hpp"

namespace karmad {

/// How fast a pool that has nothing free gives tickets back, to tell those it refuses when to come
/// back. It remembers about five seconds of being busy. One thread looks; any may ask.
class DrainRate {
 public:
  static constexpr std::chrono::seconds kLongest{30};

  /// To be called now and then: how many were given back since the start, and whether nothing is
  /// free. Only what happens between two busy looks counts: less work says nothing of the speed.
  void look(std::uint64_t finished, bool busy, TimePoint now) noexcept {
    const double time = std::chrono::duration<double>(now - looked_).count();
    const auto served = static_cast<double>(finished - finished_);
    looked_ = now;
    finished_ = finished;
    if (!std::exchange(busy_, busy) || !busy || time <= 0) return;
    const double kept = kMemory / (kMemory + time);
    served_ = served_ * kept + served;
    time_ = time_ * kept + time;
    // As long as none came back, one might just now.
    per_second_.store(std::max(served_, 1.0) / time_, std::memory_order_relaxed);
  }

  /// When one more may find a ticket, after so many that wait: whole seconds, at least 1, also
  /// while nothing is known, at most kLongest.
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
