#pragma once

#include <cstdint>

#include "strategies/narrow.hpp"
#include "strategies/strategy.hpp"

namespace karmad {

/// Chooses among the mirrors that are not dead, weighted by karma (HA-007, HA-022).
class NoDeads final : public Strategy {
 public:
  explicit NoDeads(std::uint32_t tolerated_errors) : tolerated_errors_(tolerated_errors) {}
  Candidates narrow(MirrorViews mirrors, Candidates suitable) const override {
    return prefer_alive(mirrors, suitable, tolerated_errors_);
  }
  std::size_t choose(MirrorViews mirrors, Candidates from, RandomSource& random) const override {
    return weighted_by_karma(mirrors, from, random);
  }
  Shares shares(MirrorViews mirrors, Candidates from) const override {
    return karma_shares(mirrors, from);
  }

 private:
  std::uint32_t tolerated_errors_;
};

}  // namespace karmad
