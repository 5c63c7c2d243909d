#include "agent/stats/period_latency.hpp"

#include <cassert>

namespace karmad {

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

std::optional<Micros> PeriodLatency::mean(BlockNumber first, BlockNumber last) const {
  std::uint64_t count = 0;
  Micros time{};
  for (const auto& cell : cells_)
    for (auto number = first; number <= last; ++number)
      if (const auto* sums = cell.blocks.find(number)) {
        count += sums->count.get();
        time += Micros{sums->time.get()};
      }
  if (count == 0) return std::nullopt;
  return time / static_cast<std::int64_t>(count);
}

std::optional<Micros> PeriodLatency::mean_of_closed_block(BlockNumber number) const {
  return mean(number, number);
}

std::optional<Micros> PeriodLatency::running_mean(TimePoint now) const {
  const auto current = block_of(now);
  return mean(current - 1, current);
}

}  // namespace karmad
