#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "agent/transport/loop/deadlines.hpp"
#include "agent/transport/loop/loop_delay.hpp"

namespace karmad {

/// The deadlines of one loop, and the clock ticks that serve them while any is armed. The loop's
/// thread only.
class Ticks {
 public:
  explicit Ticks(boost::asio::io_context& io) : coarse_(io, Deadlines::kTick), fine_(io) {}
  Ticks(const Ticks&) = delete;
  Ticks& operator=(const Ticks&) = delete;

  /// Reads the clock (19 ns).
  static TimePoint now();
  /// The time of the last tick: a tick old, older if the loop is late. For deadlines of minutes.
  /// Costs nothing while a deadline is armed.
  TimePoint lately() const { return coarse_.ticking ? coarse_.ticked : now(); }
  void arm(Deadline& deadline, TimePoint at) { arm(coarse_, deadline, at); }
  /// The same, at most a millisecond late instead of ten; the loop then wakes up as often.
  void arm_finely(Deadline& deadline, TimePoint at) { arm(fine_, deadline, at); }

  LoopDelay delay;  ///< delay of the coarse ticks; any thread may read it

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
    bool ticking = false;
    TimePoint ticked{};  ///< the last tick, or the start of the first wait
  };

  void arm(Wheel& wheel, Deadline& deadline, TimePoint at);
  void start(Wheel& wheel, TimePoint now);

  Wheel coarse_;
  Wheel fine_;
};

}  // namespace karmad
