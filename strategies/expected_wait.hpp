#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "strategies/candidates.hpp"
#include "strategies/mirror_view.hpp"

namespace karmad {

/// An attempt is overdue after this many usual durations. Of exponentially distributed ones, 5 in
/// 100 are longer.
inline constexpr float kOverdue = 3;
/// A mirror is silent if it owes more than this many answers. The estimated duration is about 1.7
/// times the mean of exponentially distributed ones (latency_estimate.hpp), so 3.4 answers are
/// missing then: by chance in 3 of 100 cases.
inline constexpr float kOwed = 2;
/// The highest reported load that counts.
inline constexpr float kMostLoad = 0.95F;

/// The answers that a mirror owes: with n searches in flight that take the time t, n / t answers
/// per µs are due (Little's law), since the last one or since the oldest search in flight began.
inline float owed_answers(std::uint32_t in_flight, float silence, float latency) {
  return static_cast<float>(in_flight) * silence / std::max(latency, 1.0F);
}

/// The usual duration of a search in µs, or more if the mirror seems to hang now, which is noticed
/// long before a timeout:
/// - how long the oldest search in flight is overdue (the idea is that of brpc's locality-aware
///   balancer, which compares the mean age);
/// - in proportion to the answers it owes: a pause is noticed after a part of the duration.
/// The penalty of recent failures is added.
inline float duration_now(const MirrorView& mirror) {
  const auto silent = mirror.latency * (mirror.owed / kOwed);
  return std::max({mirror.latency, mirror.oldest - kOverdue * mirror.latency, silent}) +
         mirror.penalty;
}

/// Durations up to this many times the shortest count as equal: samples of exponentially
/// distributed ones differ by chance as much, and a cluster whose load is low would lean to one
/// mirror.
inline constexpr float kAlike = 1.5F;

/// What one more search costs at each of some mirrors: only for comparisons. Every search in flight
/// counts as one before it, as in Finagle's peak EWMA. A duration counts as how many times it is
/// longer than kAlike times the shortest, to the sixth power: a slower mirror delays each search in
/// full, and those in flight at a fast one delay the next little, because a mirror works on several
/// at a time. So a slow one is asked only if the others have many in flight. (Simulated: with the
/// square of the duration p99.9 is up to a third higher where mirrors are slow, and equal where all
/// are alike; decision 023.) A load that the mirror reports stretches the time as in a queue, by
/// 1 / (1 - load). The wait is infinite if the weight is 0.
class ExpectedWait {
 public:
  /// A mirror has a part of the weight of the heaviest; if that part is at most `drawn01`, its next
  /// search counts for so much more, too. Else an idle one waits as little as the others: with a
  /// probability of its part, so that it gets searches while the others are hardly busy.
  ExpectedWait(MirrorViews mirrors, Candidates compared, double drawn01) {  // NOLINT: only these
    double heaviest = 0;
    for (const auto i : compared) heaviest = std::max(heaviest, mirrors[i].weight);
    auto shortest = std::numeric_limits<float>::infinity();
    for (const auto i : compared) {
      of_[i] = duration_now(mirrors[i]);
      if (mirrors[i].weight > 0) shortest = std::min(shortest, of_[i]);
    }
    const auto per_alike = 1 / (kAlike * shortest);
    for (const auto i : compared) {
      constexpr float kMostTimesAlike = 1e4F;  // so that the power is a number
      const auto& mirror = mirrors[i];
      const auto free = 1 - std::clamp(mirror.load, 0.0F, kMostLoad);
      const auto part = mirror.weight / heaviest;
      const auto own = part > drawn01 ? 1 : 1 / part;
      const auto before = static_cast<float>(mirror.in_flight / part + own);
      const auto times = std::clamp(of_[i] * per_alike, 1.0F, kMostTimesAlike);
      const auto cubed = times * times * times;
      of_[i] = mirror.weight > 0 ? cubed * cubed * before / free
                                 : std::numeric_limits<float>::infinity();
      least_ = std::min(least_, of_[i]);
    }
  }

  float operator()(std::size_t mirror) const { return of_[mirror]; }
  float least() const { return least_; }

 private:
  std::array<float, Candidates::kMost> of_;  // first the duration, then the wait
  float least_ = std::numeric_limits<float>::infinity();
};

}  // namespace karmad
