#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "config/settings/settings.hpp"
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

struct DisciplineSettings {
  QueueOrder order = QueueOrder::fifo;
  /// Acceptable wait. A queue whose oldest request always waits longer is overloaded.
  Micros target = kDefaultSettings.ticket_queue_target.value;
  /// How long that must last; with lifo also the longest wait from then on.
  Micros interval = kDefaultSettings.ticket_queue_interval.value;

  bool operator==(const DisciplineSettings&) const = default;
};

enum class QueueMove : std::uint8_t { serve_oldest, serve_newest, shed_oldest };

/// Decides which request is served next and which is shed. `fifo`: in order of arrival. `lifo`: the
/// same, until the oldest has waited longer than the target for an interval. Then the newest is
/// served first, since its client is likely still there, and requests that waited longer than the
/// interval are shed, until the queue is empty. `codel`: in order of arrival; while the wait
/// exceeds the target, one is shed per interval, and more often the longer that lasts (RFC 8289).
/// Pure; one thread at a time.
class QueueDiscipline {
 public:
  explicit QueueDiscipline(const DisciplineSettings& settings = {}) : settings_(settings) {}

  /// Changes the settings; resets the state if they differ.
  void settings(const DisciplineSettings& settings);

  /// A ticket is free for `waiting` (one or more) requests, the oldest of which has waited
  /// `oldest`. After `shed_oldest` call it again. The last request is never shed.
  QueueMove next(std::size_t waiting, Micros oldest, TimePoint now);
  /// The queue has become empty.
  void emptied();
  /// For a full queue: shed the oldest for a new request (true), or refuse the new one.
  bool newest_first() const { return overloaded_; }

 private:
  QueueMove adaptive(std::size_t waiting, Micros oldest, TimePoint now);
  QueueMove controlled(std::size_t waiting, Micros oldest, TimePoint now);

  DisciplineSettings settings_;
  std::optional<TimePoint> above_since_;  ///< since then every wait was longer than the target
  bool overloaded_ = false;               ///< lifo: newest first
  bool shedding_ = false;                 ///< codel: sheds periodically
  std::uint32_t shed_ = 0;                ///< codel: number shed since then
  TimePoint next_shed_{};
};

}  // namespace karmad
