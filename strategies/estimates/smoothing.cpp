#include "strategies/estimates/smoothing.hpp"

#include <algorithm>
#include <cmath>

namespace karmad {

bool RoundTrips::add(Micros trip) {
  if (trip < Micros{0}) return false;
  const auto measured = static_cast<double>(trip.count());
  average_ = average_ ? kAlpha * measured + (1 - kAlpha) * *average_ : measured;
  last_[next_] = trip;
  next_ = (next_ + 1) % last_.size();
  count_ = std::min(count_ + 1, last_.size());
  return true;
}

void RoundTrips::clear() {
  *this = {};
}

std::optional<Micros> RoundTrips::smoothed() const {
  if (!average_) return std::nullopt;
  return Micros{std::llround(*average_)};
}

Micros RoundTrips::least() const {
  if (count_ < 2) return Micros{0};
  return *std::ranges::min_element(last_.begin(), last_.begin() + static_cast<long>(count_));
}

}  // namespace karmad
