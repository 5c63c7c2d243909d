#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "strategies/candidates.hpp"
#include "strategies/choose.hpp"
#include "strategies/mirror_view.hpp"
#include "strategies/narrow.hpp"
#include "strategies/random_source.hpp"

namespace karmad {

/// Decides which mirrors are acceptable and which one is chosen. Every mirror set has its own
/// object, shared by all workers; any thread. No function allocates.
class Strategy {
 public:
  virtual ~Strategy() = default;
  /// The acceptable mirrors of `suitable`; empty only if `suitable` is.
  virtual Candidates narrow(MirrorViews, Candidates suitable) const { return suitable; }
  /// Chooses one of `from`, the result of `narrow`, which is not empty.
  virtual std::size_t choose(MirrorViews mirrors, Candidates from, RandomSource& random) const = 0;
  /// The same for an attempt that takes no turn: a retry, a hedge or a probe.
  virtual std::size_t choose_out_of_turn(MirrorViews mirrors, Candidates from,
                                         RandomSource& random) const {
    return choose(mirrors, from, random);
  }
  /// The probability that `choose` takes each mirror of `from`; sums to 1. Pure.
  virtual Shares shares(MirrorViews mirrors, Candidates from) const = 0;
  /// Continues the order of the strategy that a reload replaces, if it has one. `places`: the
  /// former position of each mirror.
  virtual void continue_from(const Strategy& /*before*/,
                             std::span<const std::optional<std::size_t>> /*places*/) {}
};

/// A strategy that accepts mirrors with at most so many errors in a row: those that are not dead
/// (HA-022).
class AvoidsDead : public Strategy {
 public:
  explicit AvoidsDead(std::uint32_t dead_after) : dead_after_(dead_after) {}
  Candidates narrow(MirrorViews mirrors, Candidates suitable) const override {
    return prefer_alive(mirrors, suitable, dead_after_);
  }

 private:
  std::uint32_t dead_after_;
};

}  // namespace karmad
