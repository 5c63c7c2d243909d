#pragma once

#include "strategies/narrow.hpp"
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

/// Chooses among the mirrors with the lowest error rate, weighted by karma (HA-008, HA-023). If no
/// mirror had a success in the window, all have equal chances.
class NoErrors final : public Strategy {
 public:
  Candidates narrow(MirrorViews mirrors, Candidates suitable) const override {
    return prefer_fewest_errors(mirrors, suitable);
  }
  std::size_t choose(MirrorViews mirrors, Candidates from, RandomSource& random) const override {
    return any_succeeded(mirrors, from) ? weighted_by_karma(mirrors, from, random)
                                        : uniform(from, random);
  }
  Shares shares(MirrorViews mirrors, Candidates from) const override {
    return any_succeeded(mirrors, from) ? karma_shares(mirrors, from) : uniform_shares(from);
  }
};

}  // namespace karmad
