#pragma once

#include <optional>
#include <string>

#include "balancer/core/query.hpp"
#include "balancer/core/refusal.hpp"

namespace karmad {

class ShardMirrors;

/// What one query requires of the mirrors of its table. Levels are request, table, instance: the
/// most specific read preference replaces the others completely (SS-081).
class Selection {
 public:
  Selection(const std::optional<ReadPreference>& of_request, const Table& table,
            const SelectionSettings& settings, SelectionClass of);

  /// The requirements for mirrors of this shard; null if any mirror will do: no preference is set,
  /// and mirrors do not differ. An update needs the primary, unless the table has `updates =
  /// any` or `all`.
  const Need* at(const Shard& shard) const {
    return preferred_ || shard.tracks_state || needs_primary(shard) ? &need_ : nullptr;
  }
  /// Whether an update may go to any mirror of a flat set, because they replicate it (`updates`).
  bool any_takes_updates() const { return any_takes_updates_; }
  /// Latency window of round trips; only with a preference.
  std::optional<Micros> window() const { return window_; }
  const Need& need() const { return need_; }

  /// Value of the attempt's X-Read-Preference; empty: no field (SS-090 … SS-097).
  std::string passed_on(const SetDescription& picture, std::size_t mirror) const;

 private:
  bool needs_primary(const Shard& shard) const {
    return need_.operation == Operation::write && !any_takes_updates_ && shard.mirrors->size() > 1;
  }

  Need need_;
  bool preferred_ = false;
  std::optional<Micros> window_;
  bool any_takes_updates_ = false;
};

/// A text of these requirements, in JSON.
std::string criteria_of(const Need& need);

/// Why this kind of set can never satisfy the need (SS-042, SS-121; an update needs a primary), if
/// so.
std::optional<Refusal> refusal_of(const Need& need, bool any_takes_updates, const SetView& view);

/// No suitable mirror in time: the criteria, and every mirror's role, state and last error
/// (SS-170).
Refusal nothing_suitable(const Need& need, const ShardMirrors& mirrors);

}  // namespace karmad
