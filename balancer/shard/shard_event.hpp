#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "balancer/core/refusal.hpp"
#include "balancer/rules/generation.hpp"
#include "balancer/rules/retry_plan.hpp"
#include "balancer/trace/trace.hpp"
#include "strategies/select.hpp"

namespace karmad {

/// How an attempt ended, once its reply was judged.
struct AttemptReport {
  Outcome outcome = Outcome::cancelled;
  unsigned status = 0;        ///< of the reply, if there is one
  ErrorHint hint;             ///< in an error answer
  Generation generation;      ///< of the mirror, where that matters and the reply tells
  Micros connecting{};        ///< until the request went out, or until connecting was given up
  bool sent = false;          ///< the agent may have seen a part of the request
  bool nothing_done = false;  ///< and says that it did nothing of it
  bool out_of_time = false;   ///< broken off by the deadline of the query
  bool unreachable = false;   ///< a time-out, but pings found meanwhile that there is no connection
  bool marked_unreachable =
      false;               ///< the state machine of the set takes the mirror for gone by that
  bool undecided = false;  ///< not known whose fault the error is: it is entered later
  bool passed_on = false;  ///< more of the reply is to come: the breaker is told at its end
  bool replaced = false;   ///< a reload has replaced the topology of this query
  bool no_helper = false;  ///< the reply was not looked at: too much long work waits
  std::string why;         ///< when it did not answer
};

/// What happened.
namespace event {
struct Started {};
struct AttemptEnded {
  std::size_t slot;
  AttemptReport& report;  ///< its text is taken
};
/// The time of the last `Wait` is over.
struct TimePassed {};
/// A new picture of the mirrors came, or it is known how one of them stands.
struct News {};
/// A slot of the last `Wait` is taken for this request; it goes back unless the next `Send` is for
/// that mirror.
struct SlotFreed {
  std::size_t mirror;
};
/// The query is over, or another answer counts.
struct Cancelled {};
/// The reply of a request that had finished could not be merged.
struct Rejected {
  std::string_view why;
};
}  // namespace event
using ShardEvent = std::variant<event::Started, event::AttemptEnded, event::TimePassed, event::News,
                                event::SlotFreed, event::Cancelled, event::Rejected>;

/// What is to be done now.
namespace action {
/// Makes an attempt in this slot, which is free; its slot was taken. What the slot had is over.
struct Send {
  std::size_t slot = 0;
  Pick pick;
  Micros connect_timeout{};
  AttemptReason reason = AttemptReason::initial;
  Micros pause{};       ///< that was made before it
  unsigned number = 0;  ///< attempts of this slot before it
};
/// Breaks the attempt off; its end is told. `lost_race`: one sent later has answered.
struct Cancel {
  std::size_t slot = 0;
  bool lost_race = false;
};
/// How this shard's mirrors stand was learned: requests that wait for that are to be told.
struct TellOthers {};
/// Waits for the first of these; ends of attempts come in any case. Holds until the next event.
struct Wait {
  std::optional<TimePoint> until;
  bool news = false;
  Candidates slots;  ///< at any of these mirrors

  void end_by(std::optional<TimePoint> at) {
    if (at) until = until ? std::min(*until, *at) : *at;
  }
};
/// Has the mirrors pinged soon; for their generations the pings may follow each other closely.
struct CheckMirrors {
  bool generations = false;
};
/// The request has ended as result() says.
struct Finish {};
}  // namespace action
using ShardAction = std::variant<action::Send, action::Cancel, action::TellOthers,
                                 action::CheckMirrors, action::Wait, action::Finish>;

/// How a shard request ended, or one line of attempts of it.
struct ShardResult {
  ShardResult() {}  // NOLINT: with `= default` it would be filled with zeros first

  Outcome outcome = Outcome::cancelled;
  unsigned status = 0;  ///< of the last answer
  unsigned sub_status = 0;
  int status_override = 0;  ///< the status to report instead, if not 0 (CO-056)
  bool timed_out = false;   ///< a time-out is why it has no answer
  bool plan_anew = false;   ///< the shard moved: the query is to be planned again (CO-052)
  ErrorHint hint;           ///< in the last error answer
  std::optional<std::size_t> mirror;  ///< the last one asked
  std::size_t slot = 0;               ///< that has its reply
  /// No mirror was selected, and no attempt failed before; or too much waits for a helper thread.
  std::optional<Refusal> refused;

  bool answered() const {
    return outcome == Outcome::answered || outcome == Outcome::answered_with_warning;
  }
};

/// One attempt that did not answer: which mirror, and why.
struct FailedAttempt {
  std::size_t line = 0;  ///< of attempts, in the order in which they began
  std::size_t mirror = 0;
  std::string why;
};

}  // namespace karmad
