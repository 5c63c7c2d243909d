#pragma once

#include <algorithm>
#include <array>
#include <atomic>

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

/// The order of the configuration line: 1, 2, …, N, 1, 2, … over all workers; errors are ignored
/// (HA-004). Skips mirrors that are not candidates, and continues after the one chosen, so that no
/// mirror is chosen twice in a row while there is another. Retries, hedges and probes have a
/// cursor of their own, or are drawn by weight, and leave the order as it is: with two mirrors of
/// which one fails, a retry that took a turn would lead every first attempt to the failing one. A
/// reload continues the order.
///
/// Mirrors with different weights are chosen in proportion to them, each at regular intervals:
/// every mirror has a time at which it is due next, which a choice moves on by 1 / weight (stride
/// scheduling, Waldspurger and Weihl 1995). No lock: two workers that choose at the same time
/// choose different turns.
class RoundRobin final : public Strategy {
 public:
  std::size_t choose(MirrorViews mirrors, Candidates from, RandomSource&) const override {
    return evenly_weighted(mirrors, from) ? next_in_order(mirrors, from) : next_due(mirrors, from);
  }
  std::size_t choose_out_of_turn(MirrorViews mirrors, Candidates from,
                                 RandomSource& random) const override {
    return evenly_weighted(mirrors, from) ? next_at(out_of_turn_, from)
                                          : weighted(mirrors, from, random, weight_of);
  }
  Shares shares(MirrorViews mirrors, Candidates from) const override {
    return weighted_shares(mirrors, from, weight_of);
  }
  void continue_from(const Strategy& before,
                     std::span<const std::optional<std::size_t>> places) override {
    const auto* const former = dynamic_cast<const RoundRobin*>(&before);
    if (former == nullptr) return;
    now_ = former->now_.load(std::memory_order_relaxed);
    // The next mirror is the first of those that existed before, at or after the former cursor.
    const auto cursor = former->cursor_.load(std::memory_order_relaxed) % Candidates::kMost;
    std::size_t nearest = Candidates::kMost;
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (!places[i]) continue;
      due_[i] = former->due_[*places[i]].load(std::memory_order_relaxed);
      const auto distance = (*places[i] + Candidates::kMost - cursor) % Candidates::kMost;
      if (distance >= nearest) continue;
      nearest = distance;
      cursor_ = i;
    }
  }

 private:
  struct Turn {
    double due = 0;  ///< as stored
    double begins = 0;
    double ends = 0;
  };
  /// A mirror that was no candidate for a while does not get the missed turns.
  Turn next_turn(std::size_t mirror, double weight, double now) const {
    const auto due = due_[mirror].load(std::memory_order_relaxed);
    const auto begins = std::max(due, now - 1 / weight);
    return {.due = due, .begins = begins, .ends = begins + 1 / weight};
  }

  template <class Cursor>
  static std::size_t next_at(Cursor& cursor, Candidates from) {
    // Relaxed: only the order of this one atomic matters.
    auto turn = cursor.load(std::memory_order_relaxed);
    auto taken = from.next_from(turn);
    while (!cursor.compare_exchange_weak(turn, taken + 1, std::memory_order_relaxed))
      taken = from.next_from(turn);
    return taken;
  }

  std::size_t next_in_order(MirrorViews mirrors, Candidates from) const {
    const auto taken = next_at(cursor_, from);
    record_turn(taken, mirrors[taken].weight);
    return taken;
  }

  /// For a later change of weights: the mirror has had its turn. A lost update changes one turn.
  void record_turn(std::size_t mirror, double weight) const {
    if (!drawable(weight)) return;
    const auto now = now_.load(std::memory_order_relaxed);
    const auto turn = next_turn(mirror, weight, now);
    due_[mirror].store(turn.ends, std::memory_order_relaxed);
    if (turn.begins > now) now_.store(turn.begins, std::memory_order_relaxed);
  }

  std::size_t next_due(MirrorViews mirrors, Candidates from) const {
    for (;;) {
      const auto now = now_.load(std::memory_order_relaxed);
      std::size_t next = Candidates::kMost;
      Turn earliest;
      for (const auto mirror : from) {
        const auto weight = mirrors[mirror].weight;
        if (!drawable(weight)) continue;
        const auto turn = next_turn(mirror, weight, now);
        // The middles of the turns are compared.
        if (next != Candidates::kMost && turn.begins + turn.ends >= earliest.begins + earliest.ends)
          continue;
        next = mirror;
        earliest = turn;
      }
      if (next == Candidates::kMost) return next_in_order(mirrors, from);
      if (!due_[next].compare_exchange_weak(earliest.due, earliest.ends, std::memory_order_relaxed))
        continue;
      if (earliest.begins > now) now_.store(earliest.begins, std::memory_order_relaxed);
      cursor_.store(next + 1, std::memory_order_relaxed);
      return next;
    }
  }

  mutable std::atomic<std::size_t> cursor_{0};       // next position; may be past the end
  mutable std::atomic<std::size_t> out_of_turn_{0};  // of retries, hedges and probes
  mutable std::array<std::atomic<double>, Candidates::kMost> due_{};  // when its next turn begins
  mutable std::atomic<double> now_{0};                                // when the latest turn began
};

}  // namespace karmad
