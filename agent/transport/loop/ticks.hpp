#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "agent/transport/loop/deadlines.hpp"
#include "agent/transport/loop/loop_delay.hpp"

namespace karmad {

/// The deadlines of one loop, and the timer that wakes it for the first of them. An idle loop
/// sleeps until then; one that arms many deadlines wakes at each tick, which shows how late it
/// runs. The loop's thread only.
class Ticks {
 public:
  explicit Ticks(boost::asio::io_context& io) : coarse_(io, Deadlines::kTick), fine_(io) {}
  Ticks(const Ticks&) = delete;
  Ticks& operator=(const Ticks&) = delete;

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
