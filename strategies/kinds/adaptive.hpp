#pragma once

#include <algorithm>
#include <cstdint>

#include "strategies/expected_wait.hpp"
#include "strategies/narrow.hpp"
#include "strategies/strategy.hpp"

namespace karmad {

/// Of some mirrors drawn at random (`choices`, two by default), the one with the lowest expected
/// wait (expected_wait.hpp). It never compares all of three or more mirrors, so that several
/// masters do not all send to the single best one. Dead mirrors (HA-022) are excluded.
class Adaptive final : public Strategy {
 public:
  Adaptive(std::uint32_t tolerated_errors, std::size_t choices)
      : tolerated_errors_(tolerated_errors), choices_(choices) {}

  Candidates narrow(MirrorViews mirrors, Candidates suitable) const override {
    return prefer_alive(mirrors, suitable, tolerated_errors_);
  }
  std::size_t choose(MirrorViews mirrors, Candidates from, RandomSource& random) const override {
    return cheapest(mirrors, draw(from, compared(from), random), random, expected_wait);
  }
  Shares shares(MirrorViews mirrors, Candidates from) const override {
    return cheapest_shares(mirrors, from, compared(from), expected_wait);
  }

 private:
  std::size_t compared(Candidates from) const {
    return from.size() > 2 ? std::min(choices_, from.size() - 1) : from.size();
  }

  std::uint32_t tolerated_errors_;
  std::size_t choices_;
};

}  // namespace karmad
