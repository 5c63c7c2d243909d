#pragma once

#include <cstddef>
#include <functional>
#include <optional>

#include "strategies/read_preference.hpp"
#include "strategies/strategy.hpp"

namespace karmad {

/// An application's own word on who is acceptable: gets the suitable mirrors the strategy accepts,
/// at least one, and returns those it accepts, maybe none (SS-020, SS-123). Called by any worker.
using Selector = std::function<Candidates(const SetPicture&, Candidates)>;

/// What is asked of a mirror set.
struct SelectionCriteria {
  const Need* need = nullptr;    ///< none: any mirror will do, whatever is known of it
  Candidates avoided;            ///< tried already by this query; taken out first (SS-122)
  Candidates excluded;           ///< found out to be gone by this query; never taken
  std::optional<Micros> window;  ///< of round trips; none: unbounded (X-5)
  const Selector* selector = nullptr;
};

/// A chosen mirror, and the candidates that the choice saw.
struct Pick {
  std::size_t mirror = 0;
  Candidates suitable;    ///< suit the need of the criteria, avoided ones included
  Candidates acceptable;  ///< of them, those that the strategy chose from
  bool operator==(const Pick&) const = default;
};

/// Picks the mirror for the next attempt: suitable ones not in `avoided`, if there is none suitable
/// ones of all; of these what the strategy accepts, the application's selector and the latency
/// window leave; of these the strategy's choice. Nothing when none is suitable or the selector left
/// none. Allocates nothing; any thread may call it with a RandomSource of its own.
std::optional<Pick> select(const SelectionCriteria& criteria, const SetPicture& picture,
                           MirrorViews mirrors, const Strategy& strategy, RandomSource& random);

/// The same, but the mirror is drawn by the strategy's shares and not by its turn. Where only some
/// mirrors come into criteria, the order of `roundrobin` would go on behind them, and never come to
/// those that it passed over.
std::optional<Pick> select_by_share(const SelectionCriteria& criteria, const SetPicture& picture,
                                    MirrorViews mirrors, const Strategy& strategy,
                                    RandomSource& random);

/// The same up to the choice: what the last step chooses from. For status,
/// waits and tests.
Candidates acceptable(const SelectionCriteria& criteria, const SetPicture& picture,
                      MirrorViews mirrors, const Strategy& strategy);

}  // namespace karmad
