#include "agent/stats/mirror_latency.hpp"

#include <algorithm>
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
  constexpr Micros kNothing{-1};
  samples_.store(recent.samples, kRelaxed);
  p95_.store(recent.p95.value_or(kNothing).count(), kRelaxed);
  p99_.store(recent.p99.value_or(kNothing).count(), kRelaxed);
}

RecentLatency PublishedLatency::get() const noexcept {
  return {samples_.load(kRelaxed), read(p95_), read(p99_)};
}

void PeriodLatency::Sums::clear() noexcept {
  count.set(0);
  time.set(0);
}

void PeriodLatency::add(unsigned worker, TimePoint now, Micros took) noexcept {
  assert(worker < cells_.size());
  Cell& cell = cells_[worker];
  auto* sums = cell.blocks.claim(cell.block_of_now.at(now, period_));
  if (sums == nullptr) return;
  sums->count.add(1);
  sums->time.add(took.count());
}

PeriodLatency::Sum PeriodLatency::sum(BlockNumber first, BlockNumber last) const {
  Sum sum;
  for (const auto& cell : cells_)
    for (auto number = first; number <= last; ++number)
      if (const auto* sums = cell.blocks.find(number)) {
        sum.count += sums->count.get();
        sum.time += Micros{sums->time.get()};
      }
  return sum;
}

namespace {

constexpr std::int64_t kLongestAnswer = 4'000'000'000;  // µs, in 32 bits

/// Wraps after 49 days, as do differences.
std::uint32_t milliseconds(TimePoint time) {
  return static_cast<std::uint32_t>(time.time_since_epoch().count() / 1000);
}

}  // namespace

void RecentAnswers::add(unsigned worker, TimePoint now, Micros took) noexcept {
  auto& cell = cells_[worker].for_writer();
  const auto at = now.time_since_epoch().count();
  if (cell.written != 0 && at - cell.last < kApart.count()) return;
  cell.last = at;
  const auto duration =
      static_cast<std::uint64_t>(std::clamp<std::int64_t>(took.count(), 1, kLongestAnswer));
  cell.entries[cell.written++ % kKept].set(std::uint64_t{milliseconds(now)} << 32 | duration);
}

void RecentAnswers::append(TimePoint now, Micros oldest, std::vector<RecentAnswer>& to) const {
  const auto at = milliseconds(now);
  for (const auto& of_worker : cells_) {
    const auto* const cell = of_worker.get();
    if (cell == nullptr) continue;
    for (const auto& written : cell->entries) {
      const auto entry = written.get();
      if (entry == 0) continue;
      // Another thread's clock may be a little ahead.
      const auto ms = static_cast<std::int32_t>(at - static_cast<std::uint32_t>(entry >> 32));
      const Micros age = std::chrono::milliseconds(std::max(ms, 0));
      if (ms > -1000 && age <= oldest)
        to.push_back({age, Micros{static_cast<std::int64_t>(entry & UINT32_MAX)}});
    }
  }
}

}  // namespace karmad
