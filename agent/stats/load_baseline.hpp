#pragma once

#include <algorithm>
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
  void add(TimePoint now, double load) {
    if (!begun_) {
      begun_ = last_ = now;
      average_ = load;
    }
    if (now <= last_) return;
    const auto memory = std::min<Micros>(now - *begun_, kMemory);
    const auto part =
        static_cast<double>((now - last_).count()) / static_cast<double>(memory.count());
    average_ += (load - average_) * std::min(part, 1.0);
    last_ = now;
  }
  /// Empty in the first ten seconds after the first sample.
  std::optional<double> average() const {
    if (!begun_ || last_ - *begun_ < kSettled) return std::nullopt;
    return average_;
  }

 private:
  /// A burst of seconds exceeds it, slow daily growth does not.
  static constexpr Micros kMemory = std::chrono::seconds(60);
  static constexpr Micros kSettled = std::chrono::seconds(10);

  std::optional<TimePoint> begun_;
  TimePoint last_{};
  double average_ = 0;
};

}  // namespace karmad
