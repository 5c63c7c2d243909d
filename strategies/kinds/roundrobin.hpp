#pragma once

#include <atomic>

#include "strategies/strategy.hpp"

namespace karmad {

/// The order of the configuration line: 1, 2, …, N, 1, 2, … over all workers; errors are ignored
/// (HA-004). Skips mirrors that are not candidates, and continues after the one chosen, so that no
/// mirror is chosen twice in a row while there is another.
class RoundRobin final : public Strategy {
 public:
  std::size_t choose(MirrorViews, Candidates from, RandomSource&) const override {
    // Relaxed: only the order of this one atomic matters.
    auto turn = cursor_.load(std::memory_order_relaxed);
    auto taken = from.next_from(turn);
    while (!cursor_.compare_exchange_weak(turn, taken + 1, std::memory_order_relaxed))
      taken = from.next_from(turn);
    return taken;
  }
  Shares shares(MirrorViews, Candidates from) const override { return uniform_shares(from); }

 private:
  mutable std::atomic<std::size_t> cursor_{0};  // next position; may be past the end
};

}  // namespace karmad
