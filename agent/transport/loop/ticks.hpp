#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "agent/transport/loop/deadlines.hpp"
#include "agent/transport/loop/loop_delay.hpp"

namespace karmad {

/// The deadlines of one loop, and the coarse clock tick that serves them while any is armed. The
/// loop's thread only.
class Ticks {
 public:
  explicit Ticks(boost::asio::io_context& io) : timer_(io.get_executor()) {}
  Ticks(const Ticks&) = delete;
  Ticks& operator=(const Ticks&) = delete;

  /// Reads the clock (19 ns).
  static TimePoint now();
  /// The time of the last tick: a tick old, older if the loop is late. For deadlines of minutes.
  /// Costs nothing while a deadline is armed.
  TimePoint lately() const { return ticking_ ? ticked_ : now(); }
  void arm(Deadline& deadline, TimePoint at);

  LoopDelay delay;  ///< delay of the ticks; any thread may read it

 private:
  void start(TimePoint now);

  Deadlines deadlines_;
  boost::asio::basic_waitable_timer<std::chrono::steady_clock,
                                    boost::asio::wait_traits<std::chrono::steady_clock>,
                                    boost::asio::io_context::executor_type>
      timer_;
  bool ticking_ = false;
  TimePoint ticked_{};  ///< the last tick, or the start of the first wait
};

}  // namespace karmad
