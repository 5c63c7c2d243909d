#pragma once

#include <cstddef>
#include <functional>
#include <optional>

#include "strategies/pick_steps.hpp"
#include "strategies/read_preference.hpp"
#include "strategies/strategy.hpp"

namespace karmad {

/// An application's own restriction: gets the suitable mirrors that the strategy accepts, at least
/// one, and returns those it accepts, possibly none (SS-020, SS-123). Any worker calls it.
using Selector = std::function<Candidates(const SetDescription&, Candidates)>;

/// The input of a selection.
struct SelectionCriteria {
  const Need* need = nullptr;    ///< null: any mirror will do
  Candidates avoided;            ///< tried by this query; excluded first (SS-122)
  Candidates excluded;           ///< found to be unreachable or removed; never chosen
  std::optional<Micros> window;  ///< for round trips; none: unlimited (X-5)
  const Selector* selector = nullptr;
  bool takes_turn = true;   ///< in `roundrobin`; false for retries, hedges and probes
  TimePoint now{};          ///< for the age of attempts in flight; the epoch: ages do not count
  AvoidReasons objections;  ///< why mirrors are avoided or excluded; only for explanations
};

/// A chosen mirror, and the candidates at that moment.
struct Pick {
  std::size_t mirror = 0;
  Candidates suitable;    ///< suit the criteria, avoided ones included
  Candidates acceptable;  ///< those of them that the strategy chose from
  bool operator==(const Pick&) const = default;
};

/// Picks the mirror for the next attempt. Steps: suitable mirrors outside `avoided`, or if there
/// are none all suitable ones; of these those with a weight, if there are any; those accepted by
/// the strategy, the application's selector and the latency window; the strategy's choice. Nothing
/// if no mirror is left. Allocates nothing; any thread, each with its own RandomSource. Unless
/// `steps` is null, it gets what the selection saw and decided.
std::optional<Pick> select(const SelectionCriteria& criteria, const SetDescription& picture,
                           MirrorViews mirrors, const Strategy& strategy, RandomSource& random,
                           PickSteps* steps = nullptr);

/// The mirrors that select() would choose from. For status, waits and tests.
Candidates acceptable(const SelectionCriteria& criteria, const SetDescription& picture,
                      MirrorViews mirrors, const Strategy& strategy, PickSteps* steps = nullptr);

}  // namespace karmad
