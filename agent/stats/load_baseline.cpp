#include "agent/stats/load_baseline.hpp"

#include <algorithm>

namespace karmad {

namespace {

using namespace std::chrono_literals;

constexpr Micros kMemory = 60s;  // a burst of seconds exceeds it, slow daily growth does not
constexpr Micros kSettled = 10s;

}  // namespace

void LoadBaseline::add(TimePoint now, double load) {
  if (!begun_) {
    begun_ = last_ = now;
    average_ = load;
    return;
  }
  if (now <= last_) return;
  const auto memory = std::min<Micros>(now - *begun_, kMemory);
  const auto part =
      static_cast<double>((now - last_).count()) / static_cast<double>(memory.count());
  average_ += (load - average_) * std::min(part, 1.0);
  last_ = now;
}

std::optional<double> LoadBaseline::average() const {
  if (!begun_ || last_ - *begun_ < kSettled) return std::nullopt;
  return average_;
}

}  // namespace karmad
