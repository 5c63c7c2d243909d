#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>

#include "strategies/time.hpp"

namespace karmad {

/// Round trips of one mirror's pings: an exponential average (SS-152, SS-153, α = 0.2) and the
/// minimum of the last ten (SD-011). A value for one thread.
class RoundTrips {
 public:
  /// Adds a measurement; a negative one is refused and ignored (SS-154).
  bool add(Micros trip) {
    if (trip < Micros{0}) return false;
    const auto measured = static_cast<double>(trip.count());
    average_ = average_ ? kAlpha * measured + (1 - kAlpha) * *average_ : measured;
    last_[next_] = trip;
    next_ = (next_ + 1) % last_.size();
    count_ = std::min(count_ + 1, last_.size());
    return true;
  }
  /// The mirror became unavailable: drops all measurements (SS-151).
  void clear() { *this = {}; }
  /// The average in µs, exact; empty before the first measurement. 0 is a legal average.
  std::optional<double> average() const { return average_; }
  /// The average to the nearest µs.
  std::optional<Micros> smoothed() const {
    if (!average_) return std::nullopt;
    return Micros{std::llround(*average_)};
  }
  /// The minimum of the last ten; 0 with fewer than two (SD-011).
  Micros least() const {
    if (count_ < 2) return Micros{0};
    return *std::ranges::min_element(last_.begin(), last_.begin() + static_cast<long>(count_));
  }

 private:
  static constexpr double kAlpha = 0.2;  // SS-153
  std::optional<double> average_;
  std::array<Micros, 10> last_{};
  std::size_t next_ = 0;   // position of the next measurement
  std::size_t count_ = 0;  // number of measurements
};

}  // namespace karmad
