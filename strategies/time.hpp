#pragma once

#include <chrono>

namespace karmad {

using Micros = std::chrono::microseconds;

/// The clock of all time points. It has no now(): the time is always passed as an argument.
struct MasterClock {
  using duration = Micros;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<MasterClock>;
  static constexpr bool is_steady = true;
};
using TimePoint = MasterClock::time_point;

}  // namespace karmad
