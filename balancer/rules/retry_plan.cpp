#include "balancer/rules/retry_plan.hpp"

#include <array>
#include <utility>

#include "config/settings/attempts.hpp"
#include "config/text/enum_names.hpp"

namespace karmad {
namespace {

using namespace std::chrono_literals;
using HintKind = ErrorHint::Kind;

constexpr int kRetryWith = 449;
constexpr int kUnavailable = 503;
constexpr int kInternal = 500;

constexpr Micros kThrottleDefaultDelay = 5s;  // CO-021: for a delay of 0
constexpr Doubling kConflictPause{10ms, 1s};  // CO-055
constexpr unsigned kRecreatedAnswers = 3;     // CO-053: the last one is final
constexpr unsigned kGenerationMoves = 2;      // CO-035: to the primary
constexpr Micros kUnreachableMark = 1s;       // CO-030: later pings decide
constexpr unsigned kZoneAnswers = 1;          // CO-037: answers before it leaves a zone

/// Whether no connection was made: nothing was processed, and SD-022 treats it as overload.
bool is_connecting(Outcome outcome) {
  return outcome == Outcome::connect_failed || outcome == Outcome::connect_timeout;
}

/// Whether the mirror has no part in this end: the client left, or this process failed.
bool is_ours(Outcome outcome) {
  return outcome == Outcome::cancelled || outcome == Outcome::local_error;
}

bool is_moved(HintKind kind) {
  return kind == HintKind::moved || kind == HintKind::migrating || kind == HintKind::recreated;
}

/// Pauses before the same mirror is asked again for a generation (CO-035).
Micros generation_pause(unsigned step) {
  constexpr std::array<Micros, 5> pauses{0ms, 5ms, 25ms, 125ms, 500ms};
  return pauses[std::min<std::size_t>(step, pauses.size() - 1)];
}

/// CO-020: for a delay of 0 the default delay is used.
Micros throttle_pause(const ErrorHint& hint) {
  const auto told = hint.delay.value_or(Micros{0});
  return told > Micros{0} ? told : kThrottleDefaultDelay;
}

Decision over(Final why) {
  return {.final = why};
}

Decision another(AttemptReason reason, Micros pause, bool avoid) {
  return {.final = Final::no, .reason = reason, .pause = pause, .avoid = avoid};
}

}  // namespace

unsigned retries_allowed(const RetrySettings& settings, std::size_t mirrors) {
  if (settings.per_mirror_of_query)
    return *settings.per_mirror_of_query * static_cast<unsigned>(mirrors);
  return configured_retries(settings.per_mirror, settings.absolute_of_line, mirrors);
}

/// An ended attempt and further input of the decision.
struct RetryLoop::Moment {
  const AttemptSummary& ended;
  Micros left;
  double jitter;

  bool all_tried(const RetrySubject& subject) const { return ended.tried >= subject.mirrors; }
  /// In sets with roles only overload makes a retry avoid a mirror (X-1, BP-062).
  bool avoids() const { return ended.set != SetKind::roles; }
  HintKind kind() const { return ended.hint.kind; }
};

LeaveAlone leave_alone(const RetryRules& rules, const ErrorHint& hint) {
  if (hint.kind == HintKind::draining) return {.unavailable = rules.unavailable_mark};
  if (hint.kind == HintKind::throttled)
    return {.retry_after = std::min(throttle_pause(hint), rules.unavailable_mark)};
  return {};
}

unsigned RetryLoop::most_attempts() const {
  return karmad::most_attempts(rules_.max_attempts,
                               {.ordinary = retries_allowed(subject_.ordinary, subject_.mirrors),
                                .overload = rules_.overload_max_retries,
                                .throttled = rules_.throttle_max_retries,
                                .timeouts = std::max(rules_.timeout_steps, 1U) - 1});
}

bool RetryLoop::switched_on() const {
  return (subject_.kind == RequestClass::write || rules_.retry_reads) &&
         (subject_.kind == RequestClass::read || rules_.retry_writes);
}

/// Whether repeating the request is harmless (BP-060). A hint is sent only by a mirror that did not
/// execute the request.
bool RetryLoop::may_repeat(const AttemptSummary& ended) const {
  return subject_.kind == RequestClass::read || subject_.has_idempotency_key || !ended.sent ||
         ended.nothing_done || ended.hint.kind != HintKind::none;
}

Doubling RetryLoop::backoff_limits(const ErrorHint& hint) const {
  return {hint.backoff_base.value_or(rules_.overload_backoff_base), rules_.overload_backoff_cap};
}

bool RetryLoop::may_hedge() {
  if (attempts_ >= most_attempts()) return false;
  ++attempts_;
  ++hedges_;
  return true;
}

Decision RetryLoop::after(const AttemptSummary& ended, Micros left, double jitter,
                          TokenBucket* bucket) {
  if (!rules_.adaptive_retries) bucket = nullptr;
  const bool is_retry = ++answers_ > 1;
  if (is_answered(ended.outcome)) {
    if (bucket != nullptr && is_retry) bucket->retry_succeeded();
    if (bucket != nullptr && !is_retry) bucket->first_attempt_succeeded();
    return over(Final::answered);
  }
  const bool processed = !ended.hint.overload && !is_ours(ended.outcome);
  if (bucket != nullptr && is_retry && processed && !is_connecting(ended.outcome))
    bucket->retry_failed_without_overload();

  const Moment now{ended, left, jitter};
  auto decision = decide(now, bucket);
  if (const auto alone = leave_alone(rules_, ended.hint); now.kind() != HintKind::none) {
    decision.unavailable = std::max(decision.unavailable, alone.unavailable);
    decision.retry_after = alone.retry_after;
  }
  if (now.kind() == HintKind::retry_with) conflict_met_ = true;
  if (is_moved(now.kind())) decision.status = conflict_met_ ? kRetryWith : kUnavailable;
  if (now.kind() == HintKind::retry_with) decision.status = kRetryWith;
  if (!decision.is_retry()) return decision;
  ++attempts_;
  if (decision.reason != AttemptReason::throttled) ++retries_;
  return decision;
}

/// Checks first whether another attempt is allowed at all, since the functions of the single
/// reasons count their attempts.
Decision RetryLoop::decide(const Moment& now, TokenBucket* bucket) {
  if (!switched_on()) return over(Final::switched_off);
  const bool refused = now.kind() == HintKind::overload || now.kind() == HintKind::throttled;
  if (subject_.follow_up && !refused) return over(Final::not_retryable);  // BP-002, BP-061
  if (now.ended.outcome == Outcome::cancelled || now.ended.body_gone || !may_repeat(now.ended))
    return over(Final::not_retryable);
  if (attempts_ >= most_attempts()) return over(Final::max_attempts);
  if (now.left <= Micros{0}) return over(Final::deadline);
  switch (now.kind()) {
    case HintKind::overload:
      return overload(now, bucket);
    case HintKind::throttled:
      return throttled(now);
    case HintKind::moved:
      return moved(now, AttemptReason::moved);
    case HintKind::migrating:
      return moved(now, AttemptReason::migrating);
    case HintKind::recreated:
      return moved(now, AttemptReason::recreated);
    case HintKind::lost_copy:
      return elsewhere(now, AttemptReason::lost_copy);
    case HintKind::draining:
      return elsewhere(now, AttemptReason::draining);
    case HintKind::retry_with:
      return conflict(now);
    case HintKind::generation_low:
      return generation_low(now);
    case HintKind::none:
      // CO-032, BP-060: an update refused by a mirror that is no longer primary goes to the new
      // primary, once, regardless of `agent_retry_count`. Selection waits for it.
      if (now.ended.nothing_done && subject_.kind != RequestClass::read)
        return std::exchange(primary_changed_, true)
                   ? over(Final::limit)
                   : another(AttemptReason::new_primary, Micros{0}, /*avoid=*/true);
      return ordinary(now);
  }
  return over(Final::not_retryable);
}

/// BP-060, HA-026, X-15, X-16; after overload within its limit (BP-012). The list of timeouts has
/// its own count (CO-044); only a retry count of 0 is above it.
Decision RetryLoop::ordinary(const Moment& now) {
  if (!consequence(now.ended.outcome).retry) return over(Final::not_retryable);
  const auto allowed = retries_allowed(subject_.ordinary, subject_.mirrors);
  const bool asked_for = subject_.ordinary.any();
  const bool listed = now.ended.next_timeout && (allowed > 0 || !asked_for);
  if (allowed == 0 && !listed) return over(Final::limit);
  if (overload_met_ && retries_ >= rules_.overload_max_retries) return over(Final::limit);
  if (const auto next = next_zone(now)) return *next;
  if (!listed && !overload_met_ && ordinary_ >= allowed) return over(Final::limit);
  // No retries are configured: each mirror once, and at least one retry or hedge.
  if (!listed && !asked_for && ordinary_ + hedges_ > 0 && now.all_tried(subject_))
    return over(Final::limit);
  Micros pause{};
  if (!listed && now.all_tried(subject_)) {
    pause = subject_.ordinary.delay;
    if (is_connecting(now.ended.outcome))
      pause = std::max(pause, backoff(backoff_limits({}), retries_ + 1, now.jitter));
  }
  if (pause >= now.left) return over(Final::deadline);
  ++ordinary_;
  auto next = another(AttemptReason::retry, pause, /*avoid=*/true);
  next.refresh = is_connecting(now.ended.outcome);
  return next;
}

/// BP-004 … BP-013, BP-025. The pause and the token protect mirrors that are overloaded: one that
/// is not is asked at once, without a token, like after a delay for one mirror (CO-036, X-11).
Decision RetryLoop::overload(const Moment& now, TokenBucket* bucket) {
  overload_met_ = true;
  if (!now.ended.hint.retryable) return over(Final::not_retryable);
  if (retries_ >= rules_.overload_max_retries) return over(Final::limit);
  if (now.ended.hopeful_left && rules_.overload_retarget && !subject_.follow_up)
    return {.final = Final::no, .reason = AttemptReason::overload, .avoid = true};
  const auto pause = backoff(backoff_limits(now.ended.hint), retries_ + 1, now.jitter);
  if (pause >= now.left) return over(Final::deadline);
  if (bucket != nullptr && !bucket->take()) return over(Final::no_token);
  auto next = another(AttemptReason::overload, pause, now.avoids() || rules_.overload_retarget);
  next.took_token = bucket != nullptr;
  return next;
}

/// CO-020, CO-021, X-11: takes no token and counts for no other rule.
Decision RetryLoop::throttled(const Moment& now) {
  if (!now.ended.hint.retryable) return over(Final::not_retryable);
  if (throttled_ >= rules_.throttle_max_retries) return over(Final::limit);
  const auto pause = throttle_pause(now.ended.hint);
  // The delay applies to that mirror only: another mirror is asked at once (CO-036).
  if (!now.all_tried(subject_) && !subject_.follow_up) {
    ++throttled_;
    return {.final = Final::no, .reason = AttemptReason::throttled, .avoid = true};
  }
  if (pause >= rules_.throttle_max_wait) return over(Final::limit);
  if (throttle_waited_ + pause > rules_.throttle_max_wait) return over(Final::limit);
  if (pause >= now.left) return over(Final::deadline);
  ++throttled_;
  throttle_waited_ += pause;
  return another(AttemptReason::throttled, pause, now.avoids() || rules_.overload_retarget);
}

/// Shortens a pause so that the retry has `min_execution` before the deadline (CO-056). Nothing:
/// less than that is left, and a retry without the pause would only be one more request.
std::optional<Micros> RetryLoop::pause_before_deadline(Micros wanted, Micros left) const {
  if (wanted == Micros{0}) return wanted;
  const auto longest = left - rules_.min_execution;
  if (longest <= Micros{0}) return std::nullopt;
  return std::min(wanted, longest);
}

/// CO-050 … CO-054. The pause leaves the retry `min_execution` before the deadline, when there is
/// as much (CO-056).
Decision RetryLoop::moved(const Moment& now, AttemptReason reason) {
  if (reason == AttemptReason::recreated && ++recreated_ >= kRecreatedAnswers)
    return over(Final::limit);
  const auto wanted = direct_++ == 0 ? Micros{0} : rules_.moved_pause.step(moves_++);
  const auto pause = pause_before_deadline(wanted, now.left);
  if (!pause) return over(Final::deadline);
  auto next = another(reason, *pause, now.avoids() || reason == AttemptReason::moved);
  next.refresh = true;
  return next;
}

/// CO-055, CO-056.
Decision RetryLoop::conflict(const Moment& now) {
  Micros pause{};
  if (direct_++ > 0) {
    const auto salt = static_cast<int>(now.jitter * rules_.conflict_salt_ms) +
                      (rules_.conflict_salt_ms > 0 ? 1 : 0);
    pause = std::min(kConflictPause.cap,
                     kConflictPause.step(conflicts_++) + std::chrono::milliseconds(salt));
  }
  const auto possible = pause_before_deadline(pause, now.left);
  if (!possible) return over(Final::deadline);
  return another(AttemptReason::conflict, *possible, now.avoids());
}

/// The mirror will not have it, another one may: at once, while there is one (CO-033, CO-057).
Decision RetryLoop::elsewhere(const Moment& now, AttemptReason reason) {
  if (now.all_tried(subject_)) return over(Final::limit);
  if (const auto next = next_zone(now)) return *next;
  return {.final = Final::no, .reason = reason, .avoid = true};
}

/// CO-030, CO-031, CO-033, CO-036, CO-037: a mirror that is unreachable or being removed makes the
/// request leave its zone; for a search so does a failing mirror, once.
std::optional<Decision> RetryLoop::next_zone(const Moment& now) {
  if (!now.ended.other_zone || zones_left_ >= rules_.zone_max_retries) return std::nullopt;
  const bool unreachable =
      is_connecting(now.ended.outcome) || now.ended.outcome == Outcome::unreachable;
  if (!unreachable && now.kind() != HintKind::draining) {
    const bool in_trouble = now.kind() == HintKind::lost_copy || now.ended.status == kInternal ||
                            now.ended.status == kUnavailable;
    if (!in_trouble || subject_.kind != RequestClass::read) return std::nullopt;
    if (zone_answers_ >= kZoneAnswers) return std::nullopt;
    ++zone_answers_;
  }
  ++zones_left_;
  return Decision{.final = Final::no,
                  .reason = AttemptReason::zone,
                  .avoid = true,
                  .leave_zone = true,
                  .unavailable = unreachable ? kUnreachableMark : Micros{0},
                  .refresh = unreachable};
}

/// CO-034, CO-035, CO-077: asks the other mirrors one after the other, at once. If all are behind,
/// waits a little for the newest of them, then asks the primary, which always gets the last
/// attempt. A set without roles has no primary.
Decision RetryLoop::generation_low(const Moment& now) {
  Decision next{.final = Final::no, .reason = AttemptReason::generation_low};
  const bool roles = now.ended.set == SetKind::roles;
  const bool is_last = roles && attempts_ + 1 >= most_attempts();
  next.avoid = true;
  if (now.ended.up_to_date_left && !is_last) return next;
  if (generation_waited_ < rules_.generation_wait && !is_last) {
    const auto rest = rules_.generation_wait - generation_waited_;
    next.pause = std::min(generation_pause(generation_steps_), rest);
    if (next.pause >= now.left) return over(Final::deadline);
    ++generation_steps_;
    generation_waited_ += next.pause;
    next.prefer = Decision::Prefer::newest_behind;
    return next;
  }
  if (roles) {
    if (generation_moves_ >= kGenerationMoves) return over(Final::limit);
    ++generation_moves_;
    next.prefer = Decision::Prefer::primary;
  } else if (now.all_tried(subject_)) {
    return over(Final::limit);
  }
  return next;
}

std::string_view name(AttemptReason reason) {
  static constexpr auto kNames = enumerators<AttemptReason>();
  static_assert(kNames.all().size() == kAttemptReasons);
  return kNames[reason];
}

std::string_view trace_name(AttemptReason reason) {
  using enum AttemptReason;
  switch (reason) {
    case migrating:
    case recreated:
    case lost_copy:
    case draining:
      return name(moved);
    case generation_low:
    case new_primary:
      return name(retry);
    default:
      return name(reason);
  }
}

}  // namespace karmad
