#pragma once

#include <algorithm>
#include <cstdint>

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

/// How long one more search at this mirror is expected to take; only for comparisons. Every search
/// in flight counts as one before it, as in Finagle's peak EWMA. The duration counts twice, because
/// a mirror works on several searches at a time: those in flight delay the next one less than they
/// would in a queue, and how long it takes itself counts in full. (Simulated: with the duration
/// once p99.9 is 17 to 70 % higher where a mirror is slow, and equal where all are alike.) A load
/// that the mirror reports stretches the time as in a queue, by 1 / (1 - load).
inline float expected_wait(const MirrorView& mirror) {
  const auto free = 1 - std::clamp(mirror.load, 0.0F, kMostLoad);
  const auto before = static_cast<float>(mirror.in_flight) + 1;
  const auto duration = duration_now(mirror);
  return duration * duration * before / (static_cast<float>(mirror.weight) * free);
}

}  // namespace karmad
