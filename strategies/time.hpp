#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

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

/// Nothing of none.
constexpr std::optional<Micros> mean_time(Micros sum, std::uint64_t count) {
  if (count == 0) return std::nullopt;
  return sum / static_cast<std::int64_t>(count);
}

}  // namespace karmad
