#pragma once

#include <optional>
#include <string>

#include "balancer/core/query.hpp"
#include "balancer/core/refusal.hpp"

namespace karmad {

class ShardMirrors;

/// What one query needs of the mirrors of its table's shards, from the request, the table or the
/// instance: the most specific read preference wins whole (SS-081).
class Selection {
 public:
  Selection(const std::optional<ReadPreference>& of_request, const Table& table,
            const InstanceSettings& settings, Operation operation);

  /// What a mirror of this shard has to suit; null: any mirror will do, whatever is known of it
  /// (no preference is set, and nothing tells the mirrors apart: X-8).
  /// An update always needs the primary, unless the table says `updates = any`.
  const Need* at(const Shard& shard) const {
    return preferred_ || shard.tracks_state || needs_primary(shard) ? &need_ : nullptr;
  }
  /// Whether an update may go to any mirror of a flat set: they pass it on to each other
  /// (`updates`).
  bool any_takes_updates() const { return any_takes_updates_; }
  /// Of round trips; only where a preference is set.
  std::optional<Micros> window() const { return window_; }
  const Need& need() const { return need_; }
  SelectionCriteria criteria(const Shard& shard, Candidates avoided,
                             Candidates excluded = {}) const {
    return {.need = at(shard), .avoided = avoided, .excluded = excluded, .window = window_};
  }

  /// What the attempt's field X-Read-Preference says; empty: there is none (SS-090 … SS-097).
  std::string passed_on(const SetPicture& picture, std::size_t mirror) const;

  /// The read preference, or that it is an update, in words.
  std::string criteria() const;

 private:
  bool needs_primary(const Shard& shard) const {
    return need_.operation == Operation::write && !any_takes_updates_ && shard.mirrors->size() > 1;
  }

  Need need_;
  bool preferred_ = false;
  std::optional<Micros> window_;
  bool any_takes_updates_ = false;
};

/// What is wrong with the need for this kind of set (SS-042, SS-121; an update needs a primary):
/// nothing can be selected.
std::optional<Refusal> refusal_of(const Need& need, bool any_takes_updates, const SetView& view);

/// Nothing suited in time: the criteria, and every mirror's role, state and last error (SS-170).
Refusal nothing_suitable(const Need& need, const ShardMirrors& mirrors);

/// The set it waited for is not in use any more.
Refusal configuration_changed();

/// Too many selections wait already (SS-113).
Refusal too_many_waiting(unsigned most);

/// All mirrors that suit are full, and as many queries as may wait for a slot there already
/// (`max_in_flight`, `max_in_flight_queue`).
Refusal all_mirrors_full(std::uint64_t most);

/// It waited for a slot as long as it had time.
Refusal no_slot_in_time();

}  // namespace karmad
