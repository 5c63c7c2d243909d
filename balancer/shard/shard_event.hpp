#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
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

/// Why a reply was not checked: the queue of the helper threads is full, or karmad has thrown.
enum class Unchecked : std::uint8_t { no, no_helper, internal_error };

/// The result of an attempt after its reply was judged.
struct AttemptReport {
  Outcome outcome = Outcome::cancelled;
  unsigned status = 0;        ///< of the reply, if there is one
  ErrorHint hint;             ///< in an error answer
  Generation generation;      ///< of the mirror, if needed and reported
  Micros connecting{};        ///< until the request was sent or connecting was given up
  bool sent = false;          ///< the agent may have received a part of the request
  bool nothing_done = false;  ///< the agent did nothing of the request
  bool body_gone = false;     ///< a part of its body was passed on, and is not kept
  bool out_of_time = false;   ///< ended by the deadline of the query
  bool silent = false;        ///< a timeout, and the agent has answered no search meanwhile
  bool unreachable = false;   ///< a timeout, and pings found the agent unreachable meanwhile
  bool marked_unreachable =
      false;               ///< the set's state machine now treats the mirror as unavailable
  bool undecided = false;  ///< the cause is not known yet: recorded later
  bool agreed = false;     ///< the client's mistake only because mirrors gave the same error
  bool crashed = false;    ///< two mirrors crashed on this request: no further one is asked
  bool passed_on = false;  ///< the reply is passed on: the breaker gets its result at the end
  bool replaced = false;   ///< a reload has replaced the topology of this query
  Unchecked unchecked = Unchecked::no;  ///< why the reply was not checked
  std::string why;                      ///< unless it answered
};

/// The input of the machine.
namespace event {
struct Started {};
struct AttemptEnded {
  std::size_t slot;
  AttemptReport& report;  ///< its text is moved from
};
/// A ping of its mirror timed out while this attempt runs: it is cancelled if another one would
/// follow `report`, its end. Changes nothing else; a former `Wait` stays valid.
struct MirrorUnreachable {
  std::size_t slot;
  const AttemptReport& report;
};
/// The time of the last `Wait` has come.
struct TimePassed {};
/// The mirrors' state has changed, or the standing of one of them is known.
struct SetChanged {};
/// A slot of the last `Wait` is taken for this request; it is returned unless the next `Send` goes
/// to that mirror.
struct SlotFreed {
  std::size_t mirror;
};
/// The query has ended, or another answer counts.
struct Cancelled {};
/// The reply of a finished request could not be merged.
struct Rejected {
  std::string_view why;
};
}  // namespace event
using ShardEvent =
    std::variant<event::Started, event::AttemptEnded, event::MirrorUnreachable, event::TimePassed,
                 event::SetChanged, event::SlotFreed, event::Cancelled, event::Rejected>;

/// The output of the machine.
namespace action {
/// Starts an attempt in this slot, with the mirror's slot that was taken. The slot's former attempt
/// has ended.
struct Send {
  std::size_t slot = 0;
  Pick pick;
  Micros connect_timeout{};
  AttemptReason reason = AttemptReason::initial;
  Micros pause{};       ///< that was made before it
  unsigned number = 0;  ///< attempts of this slot before it
};
/// Cancels the attempt; its end is still reported.
struct Cancel {
  enum class Why : std::uint8_t {
    not_needed,
    lost_race,    ///< a later attempt has answered
    unreachable,  ///< its mirror is, and another one is asked
  };
  std::size_t slot = 0;
  Why why = Why::not_needed;
};
/// The standing of a mirror has become known: wake the requests that wait for it.
struct NotifyWaiters {};
/// Waits for the first of these; ends of attempts are always reported. Valid until the next event.
struct Wait {
  std::optional<TimePoint> until;
  bool news = false;
  Candidates slots;  ///< at any of these mirrors

  void end_by(std::optional<TimePoint> at) {
    if (at) until = until ? std::min(*until, *at) : *at;
  }
};
/// Has the mirrors pinged soon; for generations, pings may follow each other closely.
struct CheckMirrors {
  bool generations = false;
};
/// Something to tell, which changes nothing: for the log of selections (SS-171 … SS-175),
/// explanations and traces.
struct Log {
  enum class What : std::uint8_t {
    selection_started,  ///< one with requirements for a mirror
    selection_waits,    ///< until a mirror is suitable, for `remaining` at most
    selection_failed,   ///< `why` no mirror was found
    retry_refused,      ///< `why` none of the mirrors that `excluded` excludes is asked
  };
  What what{};
  Micros remaining{};
  std::string why{};
  std::shared_ptr<const SelectionCriteria> excluded{};
};
/// The request has ended with result().
struct Finish {};
}  // namespace action
using ShardAction = std::variant<action::Send, action::Cancel, action::NotifyWaiters,
                                 action::CheckMirrors, action::Wait, action::Log, action::Finish>;

/// The result of a shard request, or of one chain of attempts.
struct ShardResult {
  ShardResult() {}  // NOLINT: with `= default` it would be filled with zeros first

  Outcome outcome = Outcome::cancelled;
  unsigned status = 0;  ///< of the last answer
  unsigned sub_status = 0;
  int status_override = 0;  ///< the status to report instead, if not 0 (CO-056)
  bool timed_out = false;   ///< there is no answer because of a timeout
  bool in_doubt = false;    ///< a mirror got the request, and told nothing of its end
  bool crashed = false;     ///< two mirrors crashed on the request
  /// The shard moved, or a new configuration replaced the mirrors that the request waits for: the
  /// query must be planned again (CO-052).
  bool plan_again = false;
  std::optional<Micros> selection_left;  ///< of `selection_timeout`, for that plan
  ErrorHint hint;                        ///< from the last error answer
  std::optional<std::size_t> mirror;     ///< the last one asked
  std::size_t slot = 0;                  ///< the slot with its reply
  /// No mirror was selected and no attempt failed before; or the helpers' queue is full.
  std::optional<Refusal> refused;

  bool answered() const { return is_answered(outcome); }
};

/// An attempt without an answer: the mirror and the reason.
struct FailedAttempt {
  std::size_t chain = 0;  ///< in order of start
  std::size_t mirror = 0;
  std::string why;
};

}  // namespace karmad
