#include "balancer/rules/seen_requests.hpp"

#include <algorithm>

namespace karmad {

namespace {

constexpr unsigned kTimeBits = 24;
constexpr std::uint64_t kTimeMask = (std::uint64_t{1} << kTimeBits) - 1;

std::uint64_t seconds(TimePoint now) {
  return static_cast<std::uint64_t>(
             std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count()) &
         kTimeMask;
}

/// The hash without the bits that choose the place; never 0.
std::uint64_t kept(std::size_t fingerprint) {
  return (std::uint64_t{fingerprint} | std::uint64_t{1} << 63) & ~kTimeMask;
}

std::size_t place(std::size_t fingerprint) {
  return fingerprint % AnsweredQueries::kRecent;
}

}  // namespace

void AnsweredQueries::take_over(const AnsweredQueries& before) {
  for (std::size_t i = 0; i < std::min(cells_.size(), before.cells_.size()); ++i) {
    cells_[i].count.set(before.cells_[i].count.get());
    for (std::size_t at = 0; at < kRecent; ++at)
      cells_[i].recent[at].set(before.cells_[i].recent[at].get());
  }
}

void AnsweredQueries::add(unsigned worker, std::size_t fingerprint, TimePoint now) {
  auto& cell = cells_[worker];
  cell.count.add(1);
  auto& recent = cell.recent[place(fingerprint)];
  const auto value = kept(fingerprint) | seconds(now);
  if (recent.get() != value) recent.set(value);
}

std::uint64_t AnsweredQueries::count() const {
  std::uint64_t sum = 0;
  for (const auto& cell : cells_) sum += cell.count.get();
  return sum;
}

bool AnsweredQueries::contains(std::size_t fingerprint, TimePoint now) const {
  const auto wanted = kept(fingerprint);
  const auto at = place(fingerprint);
  constexpr auto kForgotten = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::seconds>(kRemembered).count());
  return std::ranges::any_of(cells_, [&](const Cell& cell) {
    const auto value = cell.recent[at].get();
    return (value & ~kTimeMask) == wanted && ((seconds(now) - value) & kTimeMask) < kForgotten;
  });
}

void CrashingRequests::take_over(const CrashingRequests& before) {
  const std::scoped_lock lock(mutex_, before.mutex_);
  entries_ = before.entries_;
  any_ = before.any_.load();
}

void CrashingRequests::add(std::size_t fingerprint, TimePoint now) {
  const std::scoped_lock lock(mutex_);
  auto found = std::ranges::find_if(entries_, [&](const Entry& entry) {
    return entry.added && entry.fingerprint == fingerprint;
  });
  if (found == entries_.end())  // std::nullopt sorts as the oldest
    found = std::ranges::min_element(entries_, {}, &Entry::added);
  *found = {fingerprint, now};
  any_ = true;
}

bool CrashingRequests::contains(std::size_t fingerprint, TimePoint now) const {
  if (!any()) return false;
  const std::scoped_lock lock(mutex_);
  return std::ranges::any_of(entries_, [&](const Entry& entry) {
    return entry.added && entry.fingerprint == fingerprint && now - *entry.added < kRefused;
  });
}

}  // namespace karmad
