#include "agent/stats/latency_quantiles.hpp"

#include <cassert>
#include <numeric>

namespace karmad {

namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

std::optional<Micros> read(const std::atomic<std::int64_t>& micros) {
  const auto value = micros.load(kRelaxed);
  return value < 0 ? std::nullopt : std::optional(Micros{value});
}

}  // namespace

void LatencyQuantiles::Counts::clear() noexcept {
  for (auto& count : of_bucket) count.set(0);
}

void LatencyQuantiles::add(unsigned worker, TimePoint now, Micros took) noexcept {
  assert(worker < cells_.size());
  Cell& cell = cells_[worker].for_writer();
  if (auto* counts = cell.blocks.claim(cell.block_of_now.at(now, kBlock)))
    counts->of_bucket[latency_bucket(took)].add(1);
}

void LatencyQuantiles::restore(TimePoint now, const LatencyCounts& counts) noexcept {
  auto* const into = cells_.front().for_writer().blocks.claim(block_of(now, kBlock));
  if (into == nullptr) return;
  for (std::size_t i = 0; i < counts.size(); ++i)
    into->of_bucket[i].add(static_cast<std::uint32_t>(counts[i]));
}

void LatencyQuantiles::add_recent(TimePoint now, LatencyCounts& sum) const {
  const auto current = block_of(now, kBlock);
  for (const auto& of_worker : cells_)
    if (const auto* const cell = of_worker.get())
      for (auto number = current - 1; number <= current; ++number)
        if (const auto* counts = cell->blocks.find(number))
          for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += counts->of_bucket[i].get();
}

RecentLatency LatencyQuantiles::over_recent(TimePoint now) const {
  LatencyCounts sum{};
  add_recent(now, sum);
  return recent_latency_of(sum);
}

RecentLatency recent_latency_of(const LatencyCounts& counts) {
  const auto samples = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  if (samples == 0) return {};
  return {samples, quantile(counts, 0.95), quantile(counts, 0.99)};
}

void PublishedLatency::set(const RecentLatency& recent) noexcept {
  constexpr Micros kNone{-1};
  samples_.store(recent.samples, kRelaxed);
  p95_.store(recent.p95.value_or(kNone).count(), kRelaxed);
  p99_.store(recent.p99.value_or(kNone).count(), kRelaxed);
}

RecentLatency PublishedLatency::get() const noexcept {
  return {samples_.load(kRelaxed), read(p95_), read(p99_)};
}

}  // namespace karmad
