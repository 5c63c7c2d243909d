#pragma once

#include <algorithm>
#include <cstdint>

#include "strategies/expected_wait.hpp"
#include "strategies/strategy.hpp"

namespace karmad {

/// Of some mirrors drawn at random (`choices`, two by default), the one with the lowest expected
/// wait (expected_wait.hpp). Only mirrors are drawn whose wait is at most kNear times the lowest of
/// all: two that were drawn blindly may both be slow. It never compares all of three or more of
/// them, so that several masters do not all send to the single best one. Dead mirrors (HA-022) are
/// excluded.
class Adaptive final : public AvoidsDead {
 public:
  /// Simulated: with 4 p99.9 is up to 6 % higher where mirrors differ in size; if all are drawn
  /// from, half as high again where a third of them is slow (decision 023).
  static constexpr float kNear = 2;

  Adaptive(std::uint32_t tolerated_errors, std::size_t choices)
      : AvoidsDead(tolerated_errors), choices_(choices) {}

  std::size_t choose(MirrorViews mirrors, Candidates from, RandomSource& random) const override {
    const ExpectedWait wait(mirrors, from);
    const auto drawn_from = near(from, wait);
    return cheapest(draw(drawn_from, compared(drawn_from), random), random, wait);
  }
  Shares shares(MirrorViews mirrors, Candidates from) const override {
    const ExpectedWait wait(mirrors, from);
    const auto drawn_from = near(from, wait);
    return cheapest_shares(drawn_from, compared(drawn_from), wait);
  }

 private:
  static Candidates near(Candidates from, const ExpectedWait& wait) {
    Candidates near;
    for (const auto mirror : from)
      if (wait(mirror) <= kNear * wait.least()) near.insert(mirror);
    return near;
  }
  std::size_t compared(Candidates from) const {
    return from.size() > 2 ? std::min(choices_, from.size() - 1) : from.size();
  }

  std::size_t choices_;
};

}  // namespace karmad
