#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "strategies/time.hpp"

namespace karmad {

/// The lower median of some values, which it reorders; 0 of none. One that is far off does not
/// change it.
template <class T>
T lower_median(std::span<T> values) {
  if (values.empty()) return {};
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

/// How an estimate follows its samples.
struct EstimateRules {
  Micros window = std::chrono::seconds(1);  ///< a sample after this time counts one half
  float rise = 0.1F;                        ///< least part of a sample above the estimate …
  float fall = 0.02F;                       ///< … and of one below it
};

/// The part that a sample counts after a pause since the one before: time / (time + window). It has
/// the shape of 1 - e^(-time / window) without the cost of an exponential.
constexpr float part_after(Micros pause, Micros window) {
  const auto time = static_cast<float>(std::max(pause, Micros{0}).count());
  return time / (time + static_cast<float>(window.count()));
}

/// The estimate after a sample, both in µs. It decays by time, so that a mirror which is rarely
/// asked is not judged by old samples, and it rises faster than it falls, so that slowness is
/// noticed at once. (Finagle's peak EWMA jumps to each higher sample; with service times that vary
/// as much as those of searches it would follow single slow ones.)
constexpr float next_estimate(float before, float sample, Micros pause,
                              const EstimateRules& rules = {}) {
  const auto least = sample > before ? rules.rise : rules.fall;
  return before + (sample - before) * std::max(least, part_after(pause, rules.window));
}

/// What is known of how long a mirror needs: the estimate in µs, and when its last sample came, in
/// µs of any clock.
struct KnownDuration {
  float duration = 0;
  std::int64_t sampled = 0;
};

/// The duration that mirrors without samples fade to: the lower median of those with a sample in
/// the last second before the newest. The others are no measure: if most mirrors of a set had a
/// slow moment, they would fade to each other and not be tried again. Moves the elements; 0 if
/// there are none.
inline float typical_duration(std::span<KnownDuration> known) {
  constexpr Micros kAsked = std::chrono::seconds(1);
  if (known.empty()) return 0;
  const auto newest = std::ranges::max(known, {}, &KnownDuration::sampled).sampled;
  const auto others = std::ranges::partition(
      known, [&](const auto& one) { return newest - one.sampled <= kAsked.count(); });
  const auto middle = known.begin() + (others.begin() - known.begin() - 1) / 2;
  std::ranges::nth_element(known.begin(), middle, others.begin(), {}, &KnownDuration::duration);
  return middle->duration;
}

/// How the penalty of failures grows and decays.
struct PenaltyRules {
  Micros window = std::chrono::seconds(2);  ///< half of it is left after this time
  float success = 0.9F;                     ///< the part that a success leaves
  float overload = 4;                       ///< a report of overload costs this many failures
  float most = 20;                          ///< it does not grow above this many failures
};

/// The penalty after a failure that cost `cost`, all in µs. Failures add up: a mirror that always
/// fails is soon asked only when its penalty has decayed. With a share f of failures the penalty
/// settles near 10 · cost · f / (1 - f).
constexpr float penalty_after_failure(float before, float cost, const PenaltyRules& rules = {}) {
  return std::max(before, std::min(before + cost, rules.most * cost));
}

/// The penalty after some time without attempts.
constexpr float penalty_after(float before, Micros time, const PenaltyRules& rules = {}) {
  return before * (1 - part_after(time, rules.window));
}

}  // namespace karmad
