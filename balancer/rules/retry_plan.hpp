#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "agent/health/error_hint.hpp"
#include "agent/stats/outcome.hpp"
#include "balancer/rules/retry_budget.hpp"
#include "config/settings/settings.hpp"
#include "strategies/set_picture.hpp"
#include "strategies/time.hpp"

namespace karmad {

/// Why an attempt is made.
enum class AttemptReason : std::uint8_t {
  initial,
  retry,           ///< the one before failed in an ordinary way (BP-060)
  overload,        ///< it was refused as overload (BP-004)
  throttled,       ///< it was told how long to wait (CO-020)
  moved,           ///< its mirror no longer serves the shard (CO-051)
  migrating,       ///< the shard is split or moves (CO-052)
  recreated,       ///< the index is another one of the same name (CO-053)
  lost_copy,       ///< its mirror has lost its copy (CO-057)
  conflict,        ///< 449: the same again (CO-055)
  generation_low,  ///< its mirror had not seen yet what the client has (CO-034)
  draining,        ///< its mirror is being taken away (CO-033)
  zone,            ///< the mirrors of a zone are not available (CO-030)
  hedge,           ///< the one before is late
  new_primary,     ///< an update whose mirror is not the primary any more (CO-032)
  quorum,          ///< several have to agree (CO-070)
};

inline constexpr std::size_t kAttemptReasons = static_cast<std::size_t>(AttemptReason::quorum) + 1;

/// Whether an attempt repeats one that has failed.
constexpr bool is_retry(AttemptReason reason) {
  using enum AttemptReason;
  return reason != initial && reason != hedge && reason != quorum;
}

/// The reason as the log says it.
std::string_view name(AttemptReason reason);
/// As traces say it: several reasons have one word there.
std::string_view trace_name(AttemptReason reason);

/// Exponential waits: `base`, doubled with every step, at most `cap`.
struct Doubling {
  Micros base{};
  Micros cap{};

  /// The wait of step 0, 1, …
  constexpr Micros step(unsigned number) const {
    constexpr unsigned most_doublings = 20;  // no overflow, even for a day
    return std::min(cap,
                    std::min(base, cap) * (Micros::rep{1} << std::min(number, most_doublings)));
  }
};

/// How long to wait before retry `attempt` (1, 2, …). `jitter` in [0, 1) scales the whole wait, so
/// that refused clients do not return together (BP-007; the exponent is attempt − 1, X-3).
constexpr Micros backoff(const Doubling& limits, unsigned attempt, double jitter) {
  const auto longest = limits.step(attempt == 0 ? 0 : attempt - 1);
  return Micros{static_cast<std::int64_t>(jitter * static_cast<double>(longest.count()))};
}

/// Retry settings of the configuration and the query. Empty: not set.
struct RetrySettings {
  std::optional<unsigned> per_mirror_of_query;  ///< options.retry_count of the query
  std::optional<unsigned> absolute_of_line;     ///< [retry_count=n] of the agent line
  std::optional<unsigned> per_mirror;           ///< agent_retry_count of the table or instance
  Micros delay{};                               ///< agent_retry_delay

  bool any() const { return per_mirror_of_query || absolute_of_line || per_mirror; }
};

/// The number of retries for one shard of a query. Precedence: query, agent line, table. The count
/// is per mirror, except the one of the line (configured_retries()).
unsigned retries_allowed(const RetrySettings& settings, std::size_t mirrors);

/// The rules of all retries. The first block has the settings of the same names; the second has
/// what only tests change. Constants that no test changes are in retry_plan.cpp.
struct RetryRules {
  bool retry_reads = kDefaultSettings.retry_reads.value;                        ///< BP-006
  bool retry_writes = kDefaultSettings.retry_writes.value;                      ///< BP-006
  unsigned overload_max_retries = kDefaultSettings.overload_max_retries.value;  ///< BP-004, X-2
  Micros overload_backoff_base = kDefaultSettings.overload_backoff_base.value;  ///< BP-007
  Micros overload_backoff_cap = kDefaultSettings.overload_backoff_cap.value;    ///< BP-007
  bool overload_retarget = kDefaultSettings.overload_retarget.value;            ///< BP-008, X-1
  bool adaptive_retries = kDefaultSettings.adaptive_retries.value;              ///< BP-020
  unsigned throttle_max_retries = kDefaultSettings.throttle_max_retries.value;  ///< CO-020
  /// CO-021 (SDK: 30 s).
  Micros throttle_max_wait = kDefaultSettings.throttle_max_wait.value;
  unsigned zone_max_retries = kDefaultSettings.zone_max_retries.value;  ///< CO-031 (SDK: 120)
  /// Most attempts of one shard request, hedges included; unset: most_attempts().
  std::optional<unsigned> max_attempts;
  unsigned timeout_steps = 0;  ///< entries of `search_timeouts` (CO-044)

  /// CO-054 (SDK: 1 s and 15 s).
  Doubling moved_pause{std::chrono::milliseconds(50), std::chrono::seconds(1)};
  unsigned conflict_salt_ms = 4;                           ///< CO-056: adds 1 … this many ms
  Micros min_execution = std::chrono::milliseconds(50);    ///< CO-056 (SDK: 5 s)
  Micros generation_wait = std::chrono::milliseconds(30);  ///< CO-035 (SDK: 5 s)
  Micros unavailable_mark = kDefaultSettings.unavailable_for.value;  ///< CO-033
  Micros behind_mark = std::chrono::seconds(1);  ///< CO-077: a ping may end it earlier
};

/// The kind of a request: whether it may be repeated, and which switches allow that (BP-006). An
/// unclassified one needs both switches and is repeated like a write (BP-010).
enum class RequestClass : std::uint8_t { read, write, unclassified };

/// The properties of a shard request that matter to its retries.
struct RetrySubject {
  RequestClass kind = RequestClass::read;
  bool has_idempotency_key = false;  ///< the agent recognizes repeated requests
  bool follow_up = false;  ///< of a cursor: repeated only if it was refused (BP-002, BP-061)
  std::size_t mirrors = 1;
  RetrySettings ordinary;
};

/// How long a mirror that gave this hint is not used: until a ping clears it, and regardless of
/// pings. 0: no pause.
struct LeaveAlone {
  Micros unavailable{};
  Micros retry_after{};
};
LeaveAlone leave_alone(const RetryRules& rules, const ErrorHint& hint);

/// An attempt that has just ended.
struct AttemptSummary {
  Outcome outcome{};
  ErrorHint hint;
  unsigned status = 0;        ///< of the answer, if there was one
  bool sent = false;          ///< the agent may have received a part of the request
  bool nothing_done = false;  ///< the agent did nothing, because it is not the primary
  bool body_gone = false;     ///< a part of the request's body was passed on, and is not kept
  std::size_t tried = 1;      ///< number of different mirrors tried, this one included
  SetKind set = SetKind::flat;
  bool other_zone = false;  ///< an untried mirror is in a zone that was not left
  /// A suitable mirror was not tried yet and is not known to be behind.
  bool up_to_date_left = false;
  /// A suitable mirror was not tried yet, and works or is unknown: it is not overloaded.
  bool hopeful_left = false;
  bool next_timeout = false;  ///< it timed out, and `search_timeouts` has another step
};

/// Why there is no further attempt.
enum class Final : std::uint8_t {
  no,  ///< another attempt follows
  answered,
  not_retryable,  ///< this error, or this kind of request
  switched_off,   ///< retry_reads, retry_writes
  limit,          ///< the limit of its reason
  max_attempts,
  deadline,
  no_token,
};

/// The decision after an attempt.
struct Decision {
  /// `newest_behind`: the newest of the mirrors that reported to be behind.
  enum class Prefer : std::uint8_t { any, newest_behind, primary };

  Final final = Final::not_retryable;
  AttemptReason reason = AttemptReason::initial;  ///< of the next attempt
  Micros pause{};               ///< before it; the connection goes back first (BP-014)
  bool avoid = false;           ///< the mirror, while there are others (BP-008, X-1)
  bool leave_zone = false;      ///< avoid all mirrors of its zone, likewise (CO-030)
  Prefer prefer = Prefer::any;  ///< for the next attempt, if it is there
  bool took_token = false;      ///< to be given back if the retry is not made (BP-025)
  bool paid = false;     ///< from the budget, also onto a mirror that works: the search timed out
  Micros unavailable{};  ///< if not 0: the mirror is not to be asked for this shard that long, or
                         ///< until a ping says otherwise; also after the last attempt
  Micros retry_after{};  ///< the same for Retry-After; pings do not end it
  bool refresh = false;  ///< the set's picture or the plan is outdated (CO-030, CO-051 … CO-053)
  int status = 0;  ///< status to report instead of the last answer's, if no attempt follows (the
                   ///< budget may refuse it); 0: none (CO-056)

  bool is_retry() const { return final == Final::no; }
};

/// Decides the retries of one shard request after each ended attempt: overload (BP-003 … BP-016),
/// including throttling (CO-020), zones (CO-030 …) and moves (CO-050 …). Pure: no clock, no random
/// source, no shared state except the bucket passed in. Allocates nothing. `rules` must outlive it.
class RetryLoop {
 public:
  RetryLoop(const RetryRules& rules, const RetrySubject& subject)
      : rules_(rules), subject_(subject) {}

  /// Call once per attempt until a final decision. `left`: time until the query's deadline;
  /// `jitter` in [0, 1), drawn for each call; `bucket` of the mirror set, may be null. A decision
  /// for another attempt counts it as made.
  Decision after(const AttemptSummary& ended, Micros left, double jitter, TokenBucket* bucket);

  /// Counts a hedge as an attempt; false if none are left.
  bool may_hedge();

  unsigned attempts() const { return attempts_; }

 private:
  struct Moment;

  Decision ordinary(const Moment& now);
  Decision overload(const Moment& now, TokenBucket* bucket);
  Decision throttled(const Moment& now);
  std::optional<Micros> pause_before_deadline(Micros wanted, Micros left) const;
  Decision moved(const Moment& now, AttemptReason reason);
  Decision conflict(const Moment& now);
  Decision elsewhere(const Moment& now, AttemptReason reason);
  std::optional<Decision> next_zone(const Moment& now);
  Decision generation_low(const Moment& now);
  Decision decide(const Moment& now, TokenBucket* bucket);

  unsigned most_attempts() const;
  bool switched_on() const;
  bool may_repeat(const AttemptSummary& ended) const;
  Doubling backoff_limits(const ErrorHint& hint) const;

  const RetryRules& rules_;
  RetrySubject subject_;
  unsigned attempts_ = 1;  // made or decided, hedges included
  unsigned answers_ = 0;   // attempts that have ended
  unsigned retries_ = 0;   // `attempt` of BP-003: all except throttled ones (CO-021)
  unsigned hedges_ = 0;
  unsigned ordinary_ = 0;
  unsigned throttled_ = 0;
  unsigned direct_ = 0;     // 410 and 449: the first retry is free (CO-056)
  unsigned moves_ = 0;      // pauses after 410
  unsigned conflicts_ = 0;  // pauses after 449
  unsigned recreated_ = 0;  // answers
  unsigned generation_steps_ = 0;
  unsigned generation_moves_ = 0;
  unsigned zones_left_ = 0;
  unsigned zone_answers_ = 0;  // part of these that were caused by an answer
  Micros throttle_waited_{};
  Micros generation_waited_{};
  bool overload_met_ = false;
  bool conflict_met_ = false;
  bool primary_changed_ = false;
};

}  // namespace karmad
