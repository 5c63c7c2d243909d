#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include "strategies/time.hpp"

namespace karmad {

/// Round trips of one mirror's pings: the average that forgets (SS-152, SS-153, α = 0.2) and the
/// least of the last ten (SD-011). A value without a thread of its own.
class RoundTrips {
 public:
  /// Takes in one measurement; a negative one is refused and changes nothing (SS-154).
  bool add(Micros trip);
  /// The mirror became unavailable: nothing is known any more (SS-151).
  void clear();
  /// The average in µs, exact; empty before the first measurement. 0 is a legal average.
  std::optional<double> average() const { return average_; }
  /// The average to the nearest µs.
  std::optional<Micros> smoothed() const;
  /// The least of the last ten; 0 until there are two (SD-011).
  Micros least() const;

 private:
  static constexpr double kAlpha = 0.2;  // SS-153
  std::optional<double> average_;
  std::array<Micros, 10> last_{};
  std::size_t next_ = 0;   // where the next measurement goes
  std::size_t count_ = 0;  // how many there are
};

}  // namespace karmad
