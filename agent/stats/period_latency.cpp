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

std::optional<Micros> PeriodLatency::mean(BlockNumber first, BlockNumber last) const {
  const auto [count, time] = sum(first, last);
  return mean_time(time, count);
}

std::uint64_t PeriodLatency::count_of_closed_block(BlockNumber number) const {
  return sum(number, number).count;
}

std::optional<Micros> PeriodLatency::mean_of_closed_block(BlockNumber number) const {
  return mean(number, number);
}

std::optional<Micros> PeriodLatency::running_mean(TimePoint now) const {
  const auto current = block_of(now);
  return mean(current - 1, current);
}

}  // namespace karmad
