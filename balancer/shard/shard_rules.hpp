#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "balancer/rules/hedge_plan.hpp"
#include "balancer/rules/retry_plan.hpp"
#include "strategies/read_preference.hpp"

namespace karmad {

/// What holds for one shard request from begin to end: which mirrors it may ask, how often, and for
/// how long. Plain values; what the pointers refer to outlives the request.
struct ShardRules {
  ShardRules() {}  // NOLINT: with `= default` it would be filled with zeros first

  /// What a mirror has to suit, and the operation.
  const Need* need = nullptr;
  /// Any mirror will do, whatever is known of it: no preference is set, and nothing tells the
  /// mirrors apart.
  bool any_mirror = false;
  bool any_takes_updates = false;  ///< an update may go to any mirror of a flat set (`updates`)
  std::optional<Micros> window;    ///< of round trips; none: unbounded (X-5)
  std::optional<std::uint64_t> min_generation;  ///< that the client has seen (CO-034)

  const RetryRules* retry = nullptr;
  RetrySubject subject;           ///< what of the request matters to its retries
  std::size_t timeout_steps = 0;  ///< entries of `search_timeouts` (CO-044)
  bool quorum = false;            ///< several mirrors have to agree on the answer (CO-070)
  Hedging hedging;                ///< off: it is not hedged
  unsigned hedge_max = 1;

  TimePoint deadline{};
  Micros connect_timeout{};
  Micros selection_timeout{};   ///< 0: no waiting for a suitable mirror
  Micros probe_every{};         ///< a mirror that could not be reached gets a request as a probe
  bool pings_describe = false;  ///< pings tell of a mirror more than that it is there

  /// Selections of the whole process that wait now, and at most how many may (SS-113).
  std::atomic<std::uint32_t>* waiting_selections = nullptr;
  std::uint32_t max_waiting_selections = 0;
  unsigned worker = 0;  ///< that counts the request as live in the retry budget

  bool reads() const { return need->operation == Operation::read; }
  /// What a mirror has to suit; null: nothing.
  const Need* needed() const { return any_mirror ? nullptr : need; }
};

}  // namespace karmad
