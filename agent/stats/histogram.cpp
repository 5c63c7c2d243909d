#include "agent/stats/histogram.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace karmad {

std::optional<Micros> quantile(std::span<const std::uint64_t, kLatencyBuckets> counts, double q) {
  const auto total = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  if (total == 0) return std::nullopt;
  const auto wanted = static_cast<std::uint64_t>(std::ceil(q * static_cast<double>(total)));
  const auto rank = std::clamp<std::uint64_t>(wanted, 1, total);
  std::uint64_t seen = 0;
  std::size_t bucket = 0;
  while ((seen += counts[bucket]) < rank) ++bucket;
  return latency_of_bucket(bucket);
}

void OwnedDurations::add_to(Durations& durations) const {
  for (std::size_t i = 0; i < counts_.size(); ++i) durations.counts[i] += counts_[i].get();
  durations.sum += Micros{sum_.get()};
}

}  // namespace karmad
