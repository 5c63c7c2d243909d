#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "balancer/rules/generation.hpp"
#include "balancer/rules/hedge_plan.hpp"
#include "balancer/rules/retry_plan.hpp"
#include "balancer/selection/shard_mirrors.hpp"
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

/// What one chain of attempts has learned about the mirrors (bits by position), for its next
/// choice.
struct ChainLearned {
  Candidates tried;
  Candidates avoided;     ///< used only if no other mirror is suitable
  Candidates left_zones;  ///< in zones the chain has left: avoided, but preferred to `avoided`
  Candidates excluded;    ///< never used
  Candidates behind;      ///< reported that they lack data the client has seen
  Candidates among;       ///< preferred as long as one is suitable; empty: any
  Candidates only;        ///< the next attempt waits for a slot at one of these; empty: any
  ToldGenerations generations;  ///< from error answers
  /// Mirrors this request found to be removed, with the time; until a later ping says otherwise.
  std::vector<std::pair<std::size_t, TimePoint>> marked_unreachable;
};

/// Chooses the mirror for the next attempt of a chain, by its rules, by what the chain has learned,
/// and by the current state of the mirrors. Holds references only. Allocates only in choose(), if
/// `among` restricts.
class MirrorChoice {
 public:
  MirrorChoice(const ShardRules& rules, const ChainLearned& chain, const ShardInputs& moment)
      : rules_(rules), chain_(chain), moment_(moment), view_(moment.mirrors.view()) {}

  /// The criteria of the next attempt, including mirrors that are full now …
  SelectionCriteria criteria() const;
  /// … and without these.
  SelectionCriteria criteria_now() const;

  /// The strategy's choice, with its slot; nothing if no mirror is suitable or has a free slot.
  std::optional<Pick> choose(SelectionCriteria criteria) const;
  /// A tripped or unreachable mirror that is due for a probe, if it is suitable (CO-092), with its
  /// slot.
  std::optional<Pick> probe() const;

  /// The mirrors with a free slot that this chain has not tried, in the order of the preference …
  PreferenceLevels untried_levels() const { return untried_levels(moment_.mirrors.full()); }
  /// … the same with full ones …
  PreferenceLevels untried_levels_if_free() const { return untried_levels({}); }
  /// … and all with a free slot.
  Candidates untried() const { return untried_levels().all(); }
  /// Whether such a mirror is not known to lack the generation that the client has seen (CO-077).
  bool has_up_to_date() const;
  /// Whether one of untried() is in another zone than `last` and in no zone that was left.
  bool has_other_zone(std::optional<std::size_t> last) const;
  /// All suitable mirrors of every level, full or not.
  Candidates suitable() const;
  /// Whether the operator has taken out all mirrors that could be asked.
  bool all_out_of_service() const;
  /// The mirrors that could each be chosen if they had a free slot.
  Candidates suitable_if_free() const;
  /// The same if any mirror has a limit: after a failed choice all these are full.
  Candidates all_full() const;

 private:
  Candidates all() const { return Candidates::first(view_.picture.mirrors.size()); }
  Candidates taken_out() const;
  Candidates excluded() const;
  void object(Candidates possible, AvoidReasons& all) const;
  Candidates suiting(Candidates from) const;
  PreferenceLevels levels(Candidates from) const;
  PreferenceLevels untried_levels(Candidates without) const;
  Candidates failing_levels(Candidates possible) const;
  Candidates too_old() const;
  Candidates unreachable() const;
  std::optional<std::size_t> unasked() const;

  const ShardRules& rules_;
  const ChainLearned& chain_;
  const ShardInputs& moment_;
  const SetView& view_;
};

}  // namespace karmad
