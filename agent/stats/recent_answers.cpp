#include "agent/stats/recent_answers.hpp"

#include <algorithm>

namespace karmad {
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
