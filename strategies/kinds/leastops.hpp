#pragma once

#include "strategies/strategy.hpp"

namespace karmad {

/// The less busy of two random mirrors that are not dead (SS-125, SS-126, X-5). Dead ones (HA-022)
/// are excluded: a mirror that fails at once is never busy and would get most queries.
class LeastOps final : public AvoidsDead {
 public:
  using AvoidsDead::AvoidsDead;
  std::size_t choose(MirrorViews mirrors, Candidates from, RandomSource& random) const override {
    return less_busy_of_two(mirrors, from, random);
  }
  Shares shares(MirrorViews mirrors, Candidates from) const override {
    return two_choice_shares(mirrors, from);
  }
};

}  // namespace karmad
