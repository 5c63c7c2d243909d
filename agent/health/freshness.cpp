#include "agent/health/freshness.hpp"

#include <algorithm>

namespace karmad {

void Freshness::seen(std::uint64_t generation, TimePoint at) {
  if (!firsts_.empty() && firsts_.back().generation >= generation) return;
  if (firsts_.size() == kMost) merge_two(at);
  firsts_.push_back({generation, firsts_.empty() ? at : std::max(at, firsts_.back().at)});
}

TimePoint Freshness::fresh_until(std::uint64_t generation, TimePoint at) const {
  const auto newer = std::ranges::upper_bound(firsts_, generation, {}, &First::generation);
  return newer == firsts_.end() ? at : std::min(at, newer->at);
}

void Freshness::forget_newer(std::uint64_t generation) {
  const auto newer = std::ranges::upper_bound(firsts_, generation, {}, &First::generation);
  firsts_.erase(newer, firsts_.end());
}

void Freshness::merge_two(TimePoint now) {
  // Relative to the age: a lag of an hour may be known to the minute, a lag of a second may not.
  const auto loss = [&](std::size_t i) {
    const auto gap = static_cast<double>((firsts_[i + 1].at - firsts_[i].at).count());
    return gap / (1.0 + static_cast<double>((now - firsts_[i].at).count()));
  };
  std::size_t best = 0;
  auto least = loss(0);
  for (std::size_t i = 1; i + 1 < firsts_.size(); ++i) {
    const auto here = loss(i);
    if (here >= least) continue;
    least = here;
    best = i;
  }
  firsts_[best].generation = firsts_[best + 1].generation;
  firsts_.erase(firsts_.begin() + static_cast<std::ptrdiff_t>(best) + 1);
}

}  // namespace karmad
