#pragma once

#include <algorithm>
#include <array>
#include <atomic>

#include "strategies/strategy.hpp"

namespace karmad {

/// The order of the configuration line: 1, 2, …, N, 1, 2, … over all workers; errors are ignored
/// (HA-004). Skips mirrors that are not candidates, and continues after the one chosen, so that no
/// mirror is chosen twice in a row while there is another.
///
/// Mirrors with different weights are chosen in proportion to them, each at regular intervals:
/// every mirror has a time at which it is due next, which a choice moves on by 1 / weight (stride
/// scheduling, Waldspurger and Weihl 1995). No lock: two workers that choose at the same time
/// choose different turns.
class RoundRobin final : public Strategy {
 public:
  std::size_t choose(MirrorViews mirrors, Candidates from, RandomSource&) const override {
    return evenly_weighted(mirrors, from) ? next_in_order(from) : next_due(mirrors, from);
  }
  Shares shares(MirrorViews mirrors, Candidates from) const override {
    return weighted_shares(mirrors, from, weight_of);
  }

 private:
  std::size_t next_in_order(Candidates from) const {
    // Relaxed: only the order of this one atomic matters.
    auto turn = cursor_.load(std::memory_order_relaxed);
    auto taken = from.next_from(turn);
    while (!cursor_.compare_exchange_weak(turn, taken + 1, std::memory_order_relaxed))
      taken = from.next_from(turn);
    return taken;
  }

  std::size_t next_due(MirrorViews mirrors, Candidates from) const {
    for (;;) {
      const auto now = now_.load(std::memory_order_relaxed);
      std::size_t next = Candidates::kMost;
      double earliest = 0;  // the middle of its turn
      double begins = 0;
      double stored = 0;
      for (const auto mirror : from) {
        const auto weight = mirrors[mirror].weight;
        if (!drawable(weight)) continue;
        const auto due = due_[mirror].load(std::memory_order_relaxed);
        // A mirror that was no candidate for a while does not get the missed turns.
        const auto turn_begins = std::max(due, now - 1 / weight);
        const auto middle = turn_begins + 0.5 / weight;
        if (next != Candidates::kMost && middle >= earliest) continue;
        next = mirror;
        earliest = middle;
        begins = turn_begins;
        stored = due;
      }
      if (next == Candidates::kMost) return next_in_order(from);
      const auto ends = begins + 1 / mirrors[next].weight;
      if (!due_[next].compare_exchange_weak(stored, ends, std::memory_order_relaxed)) continue;
      if (begins > now) now_.store(begins, std::memory_order_relaxed);
      return next;
    }
  }

  mutable std::atomic<std::size_t> cursor_{0};  // next position; may be past the end
  mutable std::array<std::atomic<double>, Candidates::kMost> due_{};  // when its next turn begins
  mutable std::atomic<double> now_{0};                                // when the latest turn began
};

}  // namespace karmad
