#pragma once

#include "balancer/rules/standings.hpp"

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
/// A retry onto a working mirror is free, since it is not wasted load. If none is known to work,
/// one paid attempt is made at each mirror of unknown state; other failed queries wait for its
/// result. All other retries are paid for.
///
/// `preferred`: the `untried` mirrors without a reason against them (a left zone, a mark). The
/// others are used if none of those works or is unknown. Pure.
RetryTarget retry_target(Candidates preferred, Candidates untried, const Standings::Groups& stand,
                         bool funded);

}  // namespace karmad
