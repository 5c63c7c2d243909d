#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "balancer/rules/hedge_plan.hpp"
#include "balancer/rules/retry_plan.hpp"
#include "strategies/read_preference.hpp"

namespace karmad {

/// Everything constant in one shard request: which mirrors it may ask, how often, for how long.
/// Plain values; the targets of the pointers outlive the request.
struct ShardRules {
  ShardRules() {}  // NOLINT: with `= default` it would be filled with zeros first

  /// The requirements for a mirror, and the operation.
  const Need* need = nullptr;
  /// Any mirror will do: no preference is set, and the mirrors do not differ.
  bool any_mirror = false;
  bool any_takes_updates = false;  ///< an update may go to any mirror of a flat set (`updates`)
  /// The one mirror that this request is for; no other is asked (`updates = all`).
  std::optional<std::size_t> only;
  std::optional<Micros> window;                 ///< for round trips; none: unlimited (X-5)
  std::optional<std::uint64_t> min_generation;  ///< newest data the client has seen (CO-034)

  const RetryRules* retry = nullptr;
  RetrySubject subject;  ///< the request's properties for its retries
  /// Asked first, as long as one of them is suitable and nothing speaks against it.
  Candidates preferred;
  bool quorum = false;  ///< several mirrors must agree on the answer (CO-070)
  Hedging hedging;      ///< off: not hedged
  unsigned hedge_max = 1;

  TimePoint deadline{};
  Micros connect_timeout{};
  Micros selection_timeout{};   ///< 0: no wait for a suitable mirror
  Micros probe_every{};         ///< interval of probes to unreachable mirrors
  bool pings_describe = false;  ///< pings report more than that the mirror is alive

  /// Selections of the process that wait now, and their limit (SS-113).
  std::atomic<std::uint32_t>* waiting_selections = nullptr;
  std::uint32_t max_waiting_selections = 0;
  unsigned worker = 0;  ///< counts the live request in the retry budget

  /// Whether it may be asked more than once. An unclassified request may not, also where its own
  /// read preference selects the mirror.
  bool reads() const {
    return need->operation == Operation::read && subject.kind == RequestClass::read;
  }
  /// The requirements for a mirror; null: none.
  const Need* needed() const { return any_mirror ? nullptr : need; }
};

}  // namespace karmad
