#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "config/settings.hpp"
#include "strategies/time.hpp"

namespace karmad {

struct DisciplineSettings {
  QueueOrder order = QueueOrder::fifo;
  /// A wait that is fine; a queue whose oldest waits longer all the time is overloaded.
  Micros target = kDefaultSettings.ticket_queue_target.value;
  /// How long it has to be so; with last in, first out, also the longest wait from then on.
  Micros interval = kDefaultSettings.ticket_queue_interval.value;

  bool operator==(const DisciplineSettings&) const = default;
};

enum class QueueMove : std::uint8_t { serve_oldest, serve_newest, shed_oldest };

/// In which order those who wait are served, and who has waited in vain. `fifo`: as they came.
/// `lifo`: so too, until the oldest has waited longer than the target for an interval; then the
/// newest is served first, for its client is still there, and who waited longer than the interval
/// is shed, until the queue was empty. `codel`: as they came, but while the
/// wait stays above the target one is shed per interval, and more often the longer that lasts
/// (RFC 8289). Pure; one thread at a time uses it.
class QueueDiscipline {
 public:
  explicit QueueDiscipline(const DisciplineSettings& settings = {}) : settings_(settings) {}

  /// Goes on by other rules; what was learnt is forgotten when they differ.
  void settings(const DisciplineSettings& settings);

  /// A ticket is free, and `waiting` (one or more) wait for it, the oldest for `oldest`. After
  /// `shed_oldest` it wants to be asked again. The last one is never shed.
  QueueMove next(std::size_t waiting, Micros oldest, TimePoint now);
  /// The queue is empty.
  void emptied();
  /// The queue is full: the oldest has to go for the one that comes. Else that one is refused.
  bool newest_first() const { return overloaded_; }

 private:
  QueueMove adaptive(std::size_t waiting, Micros oldest, TimePoint now);
  QueueMove controlled(std::size_t waiting, Micros oldest, TimePoint now);

  DisciplineSettings settings_;
  std::optional<TimePoint> above_since_;  ///< the wait was longer than the target at every look
  bool overloaded_ = false;               ///< lifo: newest first
  bool shedding_ = false;                 ///< codel: one now and then
  std::uint32_t shed_ = 0;                ///< codel: since shedding began
  TimePoint next_shed_{};
};

}  // namespace karmad
