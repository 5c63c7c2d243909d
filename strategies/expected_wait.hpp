#pragma once

#include <algorithm>

#include "strategies/mirror_view.hpp"

namespace karmad {

/// An attempt is overdue after this many usual durations. Of exponentially distributed ones, 5 in
/// 100 are longer.
inline constexpr float kOverdue = 3;
/// The highest reported load that counts.
inline constexpr float kMostLoad = 0.95F;

/// The usual duration of a search in µs, or how long the oldest search in flight is overdue if that
/// is more, plus the penalty of recent failures. A mirror that hangs is found long before its
/// timeout. (The idea is that of brpc's locality-aware balancer, which compares the mean age.)
inline float duration_now(const MirrorView& mirror) {
  return std::max(mirror.latency, mirror.oldest - kOverdue * mirror.latency) + mirror.penalty;
}

/// The expected time in µs until one more search at this mirror has ended; only for comparisons.
/// Every search in flight counts as one before it (Finagle's peak EWMA). A load that the mirror
/// reports stretches the time as in a queue, by 1 / (1 - load).
inline float expected_wait(const MirrorView& mirror) {
  const auto free = 1 - std::clamp(mirror.load, 0.0F, kMostLoad);
  const auto before = static_cast<float>(mirror.in_flight) + 1;
  return duration_now(mirror) * before / (static_cast<float>(mirror.weight) * free);
}

}  // namespace karmad
