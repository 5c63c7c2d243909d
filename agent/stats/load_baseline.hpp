#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "strategies/time.hpp"

namespace karmad {

/// How busy a mirror set is, and how busy it usually is, in attempts in flight per mirror.
struct SetLoad {
  std::uint32_t median = 0;     ///< of the median mirror
  std::optional<double> usual;  ///< slow average of that; empty before it means anything
};

/// What the median mirror works on, of an even number the lower one; 0 without mirrors. Reorders
/// what it is given. One mirror that stalls, or stands idle, does not show in it.
std::uint32_t median_in_flight(std::span<std::uint32_t> in_flight);

/// The average of a load over about the last minute, whatever the intervals between the looks at
/// it; younger than a minute: over its life. A value without a thread or a clock of its own.
class LoadBaseline {
 public:
  void add(TimePoint now, double load);
  /// Empty in the first ten seconds.
  std::optional<double> average() const;

 private:
  std::optional<TimePoint> begun_;
  TimePoint last_{};
  double average_ = 0;
};

}  // namespace karmad
