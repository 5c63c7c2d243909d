#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include "strategies/time.hpp"

namespace karmad {

/// Round trips of one mirror's pings: an exponential average (SS-152, SS-153, α = 0.2) and the
/// minimum of the last ten (SD-011). A value for one thread.
class RoundTrips {
 public:
  /// Adds a measurement; a negative one is refused and ignored (SS-154).
  bool add(Micros trip);
  /// The mirror became unavailable: drops all measurements (SS-151).
  void clear();
  /// The average in µs, exact; empty before the first measurement. 0 is a legal average.
  std::optional<double> average() const { return average_; }
  /// The average to the nearest µs.
  std::optional<Micros> smoothed() const;
  /// The minimum of the last ten; 0 with fewer than two (SD-011).
  Micros least() const;

 private:
  static constexpr double kAlpha = 0.2;  // SS-153
  std::optional<double> average_;
  std::array<Micros, 10> last_{};
  std::size_t next_ = 0;   // position of the next measurement
  std::size_t count_ = 0;  // number of measurements
};

}  // namespace karmad
