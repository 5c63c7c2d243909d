#pragma once

#include <atomic>

#include "strategies/strategy.hpp"

namespace karmad {

/// Strict order of the configuration line: 1, 2, …, N, 1, 2, … over all workers; health is not
/// looked at (HA-004). A mirror that is not among the candidates is passed over, and the order goes
/// on behind the one taken, so that no mirror is taken twice in a row while there is another.
class RoundRobin final : public Strategy {
 public:
  std::size_t choose(MirrorViews, Candidates from, RandomSource&) const override {
    // Relaxed: the order of turns is the order of this one atomic; nothing else hangs on it.
    auto turn = cursor_.load(std::memory_order_relaxed);
    auto taken = from.next_from(turn);
    while (!cursor_.compare_exchange_weak(turn, taken + 1, std::memory_order_relaxed))
      taken = from.next_from(turn);
    return taken;
  }
  Shares shares(MirrorViews, Candidates from) const override { return uniform_shares(from); }

 private:
  mutable std::atomic<std::size_t> cursor_{0};  // position whose turn is next; may be past the end
};

}  // namespace karmad
