#pragma once

#include <string>
#include <string_view>

#include "agent/mirrors/mirror_set.hpp"
#include "balancer/core/counters.hpp"
#include "balancer/rules/protection.hpp"
#include "strategies/select.hpp"

namespace karmad {

/// What hedging depends on beside the rules: how the set answers and how busy it is now.
struct HedgeConditions {
  bool loaded = false;  ///< above the load at which hedges only add to it
  RecentLatency measured{};
};

/// The mirrors of a shard as its request sees them at the moment of an event. The server answers
/// from the mirror set, a test from values written down. Nothing here waits.
class ShardMirrors {
 public:
  /// What is known of the set; stays the same until the next event.
  virtual const SetView& view() const = 0;
  virtual std::string_view name(std::size_t mirror) const = 0;
  virtual std::string last_error(std::size_t mirror) const = 0;
  /// Those whose last request or ping failed.
  virtual Candidates failing() const = 0;
  /// The choice of the set's strategy; nothing when no mirror suits. `by_share`: not by turn.
  virtual std::optional<Pick> pick(const SelectionCriteria& criteria, bool by_share,
                                   RandomSource& random) const = 0;
  /// What pick() would choose from.
  virtual Candidates acceptable(const SelectionCriteria& criteria) const = 0;
  virtual bool pinged() const = 0;
  /// The set is not in use any more: no news will come.
  virtual bool closed() const = 0;
  /// Mirrors where no attempt may begin now (`max_in_flight`).
  virtual Candidates full() const = 0;
  /// Whether any mirror has such a limit; a reload may just have set it.
  virtual bool limited() const = 0;
  /// Takes a slot at a mirror for the attempt that is sent next; false: there is none.
  virtual bool try_take_slot(std::size_t mirror) = 0;
  /// Those who wait for a slot, and at most how many may.
  virtual WaitQueue& line() = 0;
  virtual std::uint64_t longest_line() const = 0;
  virtual HedgeConditions hedge_conditions() const = 0;

  // For the log of selections (SS-171 … SS-175).
  virtual void selection_started() {}
  virtual void selection_waits(Micros /*remaining*/) {}
  virtual void selection_failed(std::string_view /*why*/) {}

 protected:
  ~ShardMirrors() = default;
};

/// What a shard request may look at and ask when it takes an event.
struct ShardMoment {
  TimePoint now;
  RandomSource& random;
  Protection& protection;
  ShardMirrors& mirrors;
  Counters& counters;
};

}  // namespace karmad
