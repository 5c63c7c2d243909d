#pragma once

#include <array>
#include <cstddef>

#include "strategies/time.hpp"

namespace karmad {

class Deadlines;

/// Something that wants to be told when a time has come. Disarms itself when it goes.
class Deadline {
 public:
  Deadline() = default;
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;
  virtual ~Deadline() { disarm(); }

  bool armed() const { return owner_ != nullptr; }
  /// What it is armed for, or was last.
  TimePoint due() const { return at_; }
  void disarm();

 protected:
  /// Called once, disarmed, at most one tick late. May arm itself again, and destroy itself.
  virtual void expired() = 0;

 private:
  friend class Deadlines;
  Deadlines* owner_ = nullptr;
  Deadline* previous_ = nullptr;
  Deadline* next_ = nullptr;
  TimePoint at_{};
};

/// All deadlines of one worker, as a wheel of lists: arming and disarming cost a few ns whatever
/// the number, and one tick of 10 ms replaces a system timer per operation. The time is passed in;
/// no clock is read.
class Deadlines {
 public:
  static constexpr Micros kTick{10'000};

  Deadlines();
  Deadlines(const Deadlines&) = delete;
  Deadlines& operator=(const Deadlines&) = delete;

  /// Arms `deadline` for `at`, wherever it was armed before.
  void arm(Deadline& deadline, TimePoint at);
  /// Lets everything whose time has come expire. Call about every kTick.
  void tick(TimePoint now);
  bool empty() const { return count_ == 0; }

 private:
  friend class Deadline;
  static constexpr std::size_t kSlots = 512;
  struct Anchor final : Deadline {
    void expired() override {}
  };
  static void link(Deadline& head, Deadline& deadline);
  static void unlink(Deadline& deadline);

  std::array<Anchor, kSlots> slots_;
  std::size_t count_ = 0;
  std::int64_t ticked_ = -1;  ///< number of the last slot looked at, counted since time began
};

}  // namespace karmad
