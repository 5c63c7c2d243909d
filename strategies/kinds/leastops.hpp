#pragma once

#include "strategies/narrow.hpp"
#include "strategies/strategy.hpp"

namespace karmad {

/// The less busy of two random mirrors that are not dead (SS-125, SS-126, X-5). Dead ones (HA-022)
/// are excluded: a mirror that fails at once is never busy and would get most queries.
class LeastOps final : public Strategy {
 public:
  explicit LeastOps(std::uint32_t tolerated_errors) : tolerated_errors_(tolerated_errors) {}
  Candidates narrow(MirrorViews mirrors, Candidates suitable) const override {
    return prefer_alive(mirrors, suitable, tolerated_errors_);
  }
  std::size_t choose(MirrorViews mirrors, Candidates from, RandomSource& random) const override {
    return less_busy_of_two(mirrors, from, random);
  }
  Shares shares(MirrorViews mirrors, Candidates from) const override {
    return two_choice_shares(mirrors, from);
  }

 private:
  std::uint32_t tolerated_errors_;
};

}  // namespace karmad
