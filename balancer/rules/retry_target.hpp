#pragma once

#include "balancer/rules/standings.hpp"
#include "strategies/read_preference.hpp"

namespace karmad {

/// The mirrors for a retry at an untried mirror, and its condition.
struct RetryTarget {
  enum class On : std::uint8_t {
    nothing,  ///< no condition
    budget,   ///< the budget must allow it
    news,     ///< wait: an attempt in progress will show the state of these mirrors
  };
  On on = On::budget;
  Candidates among;  ///< empty: any
};

/// Rule: no query is lost while a working mirror is untried, and a set without working mirrors gets
/// hardly more than its normal load (docs/decisions/012-retries-onto-proven-mirrors.md).
///
/// A retry onto a working mirror is free, since it is not wasted load, and so is one onto a mirror
/// of a later level of the preference: it is better than a paid one onto a failing mirror. If none
/// is known to work, one attempt is made at each mirror of unknown state, paid for if the budget is
/// `funded`; other failed queries wait for its result. All other retries are paid for.
///
/// `untried`: by the order of preference. `avoided`: those with a reason against them (a left zone,
/// a mark); they are used if none of the others works or is unknown. Pure.
RetryTarget retry_target(const PreferenceLevels& untried, Candidates avoided,
                         const SetHealth::Groups& stand, bool funded);

}  // namespace karmad
