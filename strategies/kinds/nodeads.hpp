#pragma once

#include "strategies/strategy.hpp"

namespace karmad {

/// Chooses among the mirrors that are not dead, weighted by karma (HA-007, HA-022).
class NoDeads final : public AvoidsDead {
 public:
  using AvoidsDead::AvoidsDead;
  std::size_t choose(MirrorViews mirrors, Candidates from, RandomSource& random) const override {
    return weighted_by_karma(mirrors, from, random);
  }
  Shares shares(MirrorViews mirrors, Candidates from) const override {
    return karma_shares(mirrors, from);
  }
};

}  // namespace karmad
