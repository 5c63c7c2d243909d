#pragma once

#include "balancer/rules/standings.hpp"

namespace karmad {

/// Where a retry goes that may go to any mirror not tried yet, and on what condition.
struct RetryTarget {
  enum class On : std::uint8_t {
    nothing,  ///< it costs nothing
    budget,   ///< the budget has to pay
    news,     ///< an attempt under way will tell how these mirrors stand: then ask again
  };
  On on = On::budget;
  Candidates among;  ///< empty: any
};

/// The rule that no query is lost while a mirror which works was not tried, and that a set of which
/// nothing works sees hardly more than its load
/// (docs/decisions/012-retries-onto-proven-mirrors.md).
///
/// A retry onto a mirror that works costs nothing, as it is no load that leads nowhere. Where none
/// is known to work, retries find out: one paid attempt at each mirror of which nothing is known;
/// other queries that fail meanwhile wait for its result. Any other retry is paid for.
///
/// `preferred` are those of the `untried` mirrors that nothing else speaks against (a zone that was
/// left, a mark); the others are used when none of those works or is unknown. Pure.
RetryTarget retry_target(Candidates preferred, Candidates untried, const Standings::Groups& stand,
                         bool funded);

}  // namespace karmad
