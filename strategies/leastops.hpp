#pragma once

#include "strategies/strategy.hpp"

namespace karmad {

/// The less busy of two mirrors drawn at random (SS-125, SS-126, X-5).
class LeastOps final : public Strategy {
 public:
  std::size_t choose(MirrorViews mirrors, Candidates from, RandomSource& random) const override {
    return less_busy_of_two(mirrors, from, random);
  }
  Shares shares(MirrorViews mirrors, Candidates from) const override {
    return two_choice_shares(mirrors, from);
  }
};

}  // namespace karmad
