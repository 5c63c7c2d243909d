#pragma once

#include "strategies/strategy.hpp"

namespace karmad {

/// Every mirror has the same probability; errors are ignored (HA-003).
class Random final : public Strategy {
 public:
  std::size_t choose(MirrorViews, Candidates from, RandomSource& random) const override {
    return uniform(from, random);
  }
  Shares shares(MirrorViews, Candidates from) const override { return uniform_shares(from); }
};

}  // namespace karmad
