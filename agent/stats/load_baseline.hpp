#pragma once

#include <cstdint>
#include <optional>

#include "strategies/time.hpp"

namespace karmad {

/// The current and the usual load of a mirror set, in attempts in flight per mirror.
struct SetLoad {
  std::uint32_t median = 0;     ///< of the mirror with the median load
  std::optional<double> usual;  ///< slow average of `median`; empty until it has enough samples
};

/// The average of a load over about the last minute, for any sampling intervals; before that, over
/// its life. A value without a clock, for one thread.
class LoadBaseline {
 public:
  void add(TimePoint now, double load);
  /// Empty in the first ten seconds after the first sample.
  std::optional<double> average() const;

 private:
  std::optional<TimePoint> begun_;
  TimePoint last_{};
  double average_ = 0;
};

}  // namespace karmad
