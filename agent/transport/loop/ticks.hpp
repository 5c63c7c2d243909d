#pragma once

#include <algorithm>
#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "agent/stats/single_writer.hpp"
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

/// Measures how late a loop runs: the delay of its clock tick. A long turn delays all other work as
/// much. The tick passes the time that it reads anyway, so this costs nothing. The loop's thread
/// writes, any thread reads.
class LoopDelay {
 public:
  /// Delays above this are counted.
  static constexpr Micros kLate{5'000};
  /// Length of the windows of longest(), which covers the current and the last one.
  static constexpr Micros kWindow{60'000'000};

  /// A tick ran at `now`, `late` after its due time.
  void note(TimePoint now, Micros late) {
    if (now - began_ >= kWindow) {
      before_.set(now - began_ < 2 * kWindow ? current_.get() : 0);
      current_.set(0);
      began_ = now;
    }
    if (late.count() > current_.get()) current_.set(late.count());
    if (late <= kLate) return;
    late_.add(1);
    last_late_ = now;
  }

  /// Of the last one to two minutes; an idle loop has no ticks and keeps its last value.
  Micros longest() const { return Micros{std::max(current_.get(), before_.get())}; }
  /// Ticks later than kLate, since the start.
  std::uint64_t late() const { return late_.get(); }
  /// When a tick was later than kLate the last time. The loop's thread only.
  TimePoint last_late() const { return last_late_; }

 private:
  TimePoint began_{};
  TimePoint last_late_{};
  SingleWriter<Micros::rep> current_;
  SingleWriter<Micros::rep> before_;
  SingleWriter<std::uint64_t> late_;
};

/// The deadlines of one loop, and the timer that wakes it for the first of them. An idle loop
/// sleeps until then; one that arms many deadlines wakes at each tick, which shows how late it
/// runs. The loop's thread only.
class Ticks {
 public:
  explicit Ticks(boost::asio::io_context& io) : coarse_(io, Deadlines::kTick), fine_(io) {}

  /// Reads the clock (19 ns).
  static TimePoint now();
  /// The time of the last tick: a tick old, older if the loop is late. For deadlines of minutes.
  /// Costs nothing while the loop is busy.
  TimePoint coarse_now() const { return coarse_.busy ? coarse_.woke : now(); }
  void arm(Deadline& deadline, TimePoint at) { arm(coarse_, deadline, at); }
  /// The same, at most a millisecond late instead of ten.
  void arm_finely(Deadline& deadline, TimePoint at) { arm(fine_, deadline, at); }

  /// From now on no timer outlives the last deadline, so that a loop without work ends.
  void let_end();

  LoopDelay delay;  ///< of the timer for coarse deadlines; any thread may read it

 private:
  struct Wheel {
    explicit Wheel(boost::asio::io_context& io, Micros every = Deadlines::kFineTick)
        : tick(every), deadlines(every), timer(io.get_executor()) {}
    const Micros tick;
    Deadlines deadlines;
    boost::asio::basic_waitable_timer<std::chrono::steady_clock,
                                      boost::asio::wait_traits<std::chrono::steady_clock>,
                                      boost::asio::io_context::executor_type>
        timer;
    TimePoint wakes = TimePoint::max();  ///< when the timer expires
    TimePoint woke{};                    ///< when it did last
    unsigned armed = 0;                  ///< deadlines since then
    bool busy = false;                   ///< it wakes at each tick
  };

  void arm(Wheel& wheel, Deadline& deadline, TimePoint at);
  void wake(Wheel& wheel, TimePoint at);
  void wake_soon(Wheel& wheel);
  void woken(Wheel& wheel);

  Wheel coarse_;
  Wheel fine_;
  bool ends_ = false;
};

}  // namespace karmad
