#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include "strategies/time.hpp"

namespace karmad {

class Deadlines;

/// A callback at a point in time. The destructor disarms it.
class Deadline {
 public:
  Deadline& operator=(Deadline&&) = delete;
  virtual ~Deadline() { disarm(); }

  bool armed() const { return owner_ != nullptr; }
  /// The time it is or was last armed for.
  TimePoint due() const { return at_; }
  void disarm();

 protected:
  /// Called once, disarmed, at most one tick late. May arm or destroy this object.
  virtual void expired() = 0;

 private:
  friend class Deadlines;
  Deadlines* owner_ = nullptr;
  Deadline* previous_ = nullptr;
  Deadline* next_ = nullptr;
  TimePoint at_{};
};

/// Deadlines of one worker, in a timing wheel: arming and disarming cost a few ns for any number,
/// and one system timer serves all of them. The time is passed in; no clock is read.
class Deadlines {
 public:
  /// The usual tick.
  static constexpr Micros kTick{10'000};
  /// The tick for short waits, such as that before a hedge.
  static constexpr Micros kFineTick{1'000};

  explicit Deadlines(Micros tick = kTick);

  /// Arms `deadline` for `at`; replaces an earlier time. Returns when tick() will call it.
  TimePoint arm(Deadline& deadline, TimePoint at);
  /// Calls the deadlines whose time has come. Call when next_due() has come, or about once per
  /// tick.
  void tick(TimePoint now);
  /// When tick() should be called next: when the first deadline is due, or after a revolution of
  /// the wheel if none is due before; nothing while none is armed. Looks at the slots between.
  std::optional<TimePoint> next_due() const;
  bool empty() const { return count_ == 0; }

 private:
  friend class Deadline;
  static constexpr std::size_t kSlots = 512;
  struct Anchor final : Deadline {
    void expired() override {}
  };
  TimePoint end_of(std::int64_t tick) const { return TimePoint{tick * tick_}; }
  std::int64_t tick_of(TimePoint at) const { return at.time_since_epoch() / tick_ + 1; }
  static void link(Deadline& head, Deadline& deadline);
  static void unlink(Deadline& deadline);

  const Micros tick_;
  std::array<Anchor, kSlots> slots_;
  std::size_t count_ = 0;
  std::int64_t ticked_ = -1;  ///< number of the last slot processed, counted from the epoch
};

}  // namespace karmad
