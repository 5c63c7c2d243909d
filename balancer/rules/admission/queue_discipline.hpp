#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "config/settings/settings.hpp"
#include "strategies/time.hpp"

namespace karmad {

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
