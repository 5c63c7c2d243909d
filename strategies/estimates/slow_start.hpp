#pragma once

#include <algorithm>
#include <cstdint>

#include "strategies/time.hpp"

namespace karmad {

/// Slow start of a mirror that is new, has returned, or was admitted again.
struct SlowStartRules {
  Micros duration{};  ///< 0: disabled
  /// The part of its weight it starts with: it must get some searches to warm up (Envoy: 10 %).
  double least = 0.1;
  /// While it has answered fewer searches than this, its attempts in flight are limited too: its
  /// weight does not bound how many arrive before its first answer.
  std::uint32_t few_answers = 32;
  bool operator==(const SlowStartRules&) const = default;
};

/// The part of its weight that a mirror has so long after its start: linear, at most 1.
constexpr double started_part(Micros since_start, const SlowStartRules& rules) {
  if (since_start >= rules.duration) return 1;
  const auto part =
      static_cast<double>(since_start.count()) / static_cast<double>(rules.duration.count());
  return std::max(rules.least, part);
}

/// Most attempts in flight at a starting mirror that has answered `answers` searches since its
/// start. The limit doubles with each round of answers, as TCP's slow start does.
constexpr std::uint32_t starting_limit(std::uint32_t answers) {
  return 1 + answers;
}

}  // namespace karmad
