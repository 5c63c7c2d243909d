#pragma once

#include <string>
#include <string_view>

#include "agent/mirrors/mirror_set.hpp"
#include "balancer/core/counters.hpp"
#include "balancer/rules/protection.hpp"
#include "strategies/select.hpp"

namespace karmad {

/// The mirrors of a shard at the moment of an event. The server implements it with the mirror set,
/// tests with constants. No function waits.
class ShardMirrors {
 public:
  /// The picture of the set; constant until the next event.
  virtual const SetView& view() const = 0;
  virtual std::string_view name(std::size_t mirror) const = 0;
  /// The name and an error of a mirror as clients see them: by number and without its address if
  /// `status_on_query_port` says so.
  virtual std::string shown_name(std::size_t mirror) const { return std::string(name(mirror)); }
  virtual std::string shown_error(std::size_t /*mirror*/, std::string_view error) const {
    return std::string(error);
  }
  virtual std::string last_error(std::size_t mirror) const = 0;
  /// Mirrors whose last request or ping failed.
  virtual Candidates failing() const = 0;
  /// The strategy's choice; nothing if no mirror is suitable.
  virtual std::optional<Pick> pick(const SelectionCriteria& criteria,
                                   RandomSource& random) const = 0;
  /// The mirrors that pick() would choose from.
  virtual Candidates acceptable(const SelectionCriteria& criteria) const = 0;
  virtual bool pinged() const = 0;
  /// The set was removed; there will be no more news.
  virtual bool closed() const = 0;
  /// Mirrors where no attempt may start now (`max_in_flight`).
  virtual Candidates full() const = 0;
  /// Mirrors that the operator has taken out.
  virtual OutOfService out_of_service() const { return {}; }
  /// Why the set has no mirror at all; nothing if it has one.
  virtual std::optional<std::string> absent() const { return std::nullopt; }
  /// Mirrors that were neither asked nor pinged for kUnasked.
  virtual Candidates unasked(TimePoint /*now*/) const { return {}; }
  /// Mirrors in slow start with as many attempts in flight as that allows.
  virtual Candidates at_starting_limit() const { return {}; }
  /// Whether any mirror has such a limit (`full`); a reload may change it.
  virtual bool limited() const = 0;
  /// Takes a slot at a mirror for the next `Send`; false: none is free.
  virtual bool try_take_slot(std::size_t mirror) = 0;
  /// The queue for slots, and its bound.
  virtual WaitQueue& wait_queue() = 0;
  virtual std::uint64_t longest_queue() const = 0;
  /// Of the set's answers.
  virtual RecentLatency recent_latency() const = 0;
  /// The load is too high for hedges.
  virtual bool loaded_for_hedging() const = 0;

 protected:
  ~ShardMirrors() = default;
};

/// What a shard request may read and call while it handles an event.
struct ShardInputs {
  TimePoint now;
  RandomSource& random;
  Protection& protection;
  ShardMirrors& mirrors;
  Counters& counters;
};

}  // namespace karmad
