#pragma once

#include "strategies/strategy.hpp"

namespace karmad {

/// Every mirror has a probability in proportion to its weight, by default the same; errors are
/// ignored (HA-003).
class Random final : public Strategy {
 public:
  std::size_t choose(MirrorViews mirrors, Candidates from, RandomSource& random) const override {
    if (evenly_weighted(mirrors, from)) return uniform(from, random);
    return weighted(mirrors, from, random, weight_of);
  }
  Shares shares(MirrorViews mirrors, Candidates from) const override {
    return weighted_shares(mirrors, from, weight_of);
  }
};

}  // namespace karmad
