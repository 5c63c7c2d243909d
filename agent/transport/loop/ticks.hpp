#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "agent/transport/loop/deadlines.hpp"
#include "agent/transport/loop/loop_delay.hpp"

namespace karmad {

/// The deadlines of one loop and the coarse tick that looks at them, which runs as long as anything
/// is armed. For the thread of the loop only.
class Ticks {
 public:
  explicit Ticks(boost::asio::io_context& io) : timer_(io.get_executor()) {}
  Ticks(const Ticks&) = delete;
  Ticks& operator=(const Ticks&) = delete;

  /// Reads the clock (19 ns).
  static TimePoint now();
  /// A time of the recent past, a tick old while the loop keeps up, older when it does not: for
  /// deadlines of minutes, which need not be exact. Costs nothing while anything is armed.
  TimePoint lately() const { return ticking_ ? ticked_ : now(); }
  void arm(Deadline& deadline, TimePoint at);

  LoopDelay delay;  ///< how late the ticks were; any thread may read

 private:
  void start(TimePoint now);

  Deadlines deadlines_;
  boost::asio::basic_waitable_timer<std::chrono::steady_clock,
                                    boost::asio::wait_traits<std::chrono::steady_clock>,
                                    boost::asio::io_context::executor_type>
      timer_;
  bool ticking_ = false;
  TimePoint ticked_{};  ///< when the last tick was, or the first was waited for
};

}  // namespace karmad
