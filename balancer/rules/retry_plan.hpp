#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "agent/mirrors/error_hint.hpp"
#include "agent/stats/outcome.hpp"
#include "balancer/rules/attempt_reason.hpp"
#include "balancer/rules/backoff.hpp"
#include "balancer/rules/retry_budget.hpp"
#include "config/settings.hpp"
#include "strategies/role.hpp"
#include "strategies/time.hpp"

namespace karmad {

/// What the configuration and the query say about retries. Empty: not set.
struct RetrySettings {
  std::optional<unsigned> per_mirror_of_query;  ///< options.retry_count of the query
  std::optional<unsigned> absolute_of_line;     ///< [retry_count=n] of the agent line
  std::optional<unsigned> per_mirror;           ///< agent_retry_count of the table or instance
  Micros delay{};                               ///< agent_retry_delay

  bool any() const { return per_mirror_of_query || absolute_of_line || per_mirror; }
};

/// The number of retries a shard's part of a query may make: the query's word counts most, then the
/// line's, then the table's; a count is per mirror, except the line's (configured_retries()).
unsigned retries_allowed(const RetrySettings& settings, std::size_t mirrors);

/// The rules of all retries; the first block are settings of the same name, the others constants
/// that only tests change.
struct RetryRules {
  bool retry_reads = kDefaultSettings.retry_reads.value;                        ///< BP-006
  bool retry_writes = kDefaultSettings.retry_writes.value;                      ///< BP-006
  unsigned overload_max_retries = kDefaultSettings.overload_max_retries.value;  ///< BP-004, X-2
  Micros overload_backoff_base = kDefaultSettings.overload_backoff_base.value;  ///< BP-007
  Micros overload_backoff_cap = kDefaultSettings.overload_backoff_cap.value;    ///< BP-007
  bool overload_retarget = kDefaultSettings.overload_retarget.value;            ///< BP-008, X-1
  bool adaptive_retries = kDefaultSettings.adaptive_retries.value;              ///< BP-020
  unsigned throttle_max_retries = kDefaultSettings.throttle_max_retries.value;  ///< CO-020
  /// CO-021: the product's is 30 s.
  Micros throttle_max_wait = kDefaultSettings.throttle_max_wait.value;
  unsigned zone_max_retries = kDefaultSettings.zone_max_retries.value;  ///< CO-031: theirs are 120
  /// Of one shard request, for whatever reasons, hedges included; unset: most_attempts().
  std::optional<unsigned> max_attempts;

  Micros throttle_default_delay = std::chrono::seconds(5);  ///< CO-021: when told to wait 0
  /// CO-054: the product's are 1 s and 15 s.
  Doubling moved_pause{std::chrono::milliseconds(50), std::chrono::seconds(1)};
  Doubling conflict_pause{std::chrono::milliseconds(10), std::chrono::seconds(1)};  ///< CO-055
  unsigned conflict_salt_ms = 4;                           ///< CO-056: 1 … that
  unsigned recreated_answers = 3;                          ///< CO-053: the last of them fails
  Micros min_execution = std::chrono::milliseconds(50);    ///< CO-056: the product's is 5 s
  Micros generation_wait = std::chrono::milliseconds(30);  ///< CO-035: the product's is 5 s
  unsigned generation_moves = 2;                           ///< CO-035: to the primary
  Micros unavailable_mark = kDefaultSettings.unavailable_for.value;  ///< CO-033
  Micros unreachable_mark = std::chrono::seconds(1);  ///< CO-030: pings see to the rest
  unsigned zone_answers = 1;                          ///< CO-037: that make it leave a zone
  Micros behind_mark = std::chrono::seconds(1);  ///< CO-077: pings, where there are any, say more
};

/// What kind of request is retried: what may be repeated, and which switches allow it (BP-006). One
/// of an unknown kind needs both switches, and is repeated like a write (BP-010).
enum class RequestClass : std::uint8_t { read, write, unclassified };

/// What of one shard's part of a query matters to its retries.
struct RetrySubject {
  RequestClass kind = RequestClass::read;
  bool has_idempotency_key = false;  ///< the agent recognizes a repetition
  bool follow_up = false;  ///< of a cursor: repeated only where it was refused (BP-002, BP-061)
  std::size_t mirrors = 1;
  RetrySettings ordinary;
};

/// How long a mirror is to be left alone that answered with that hint: until a ping says
/// otherwise, and whatever pings say. 0: not at all.
struct LeaveAlone {
  Micros unavailable{};
  Micros retry_after{};
};
LeaveAlone leave_alone(const RetryRules& rules, const ErrorHint& hint);

/// An attempt that just ended.
struct AttemptSummary {
  Outcome outcome{};
  ErrorHint hint;
  unsigned status = 0;        ///< of the answer, if there was one
  bool sent = false;          ///< the agent may have seen a part of the request
  bool nothing_done = false;  ///< and says that it did nothing, because it is not the primary
  std::size_t tried = 1;      ///< different mirrors, this one included
  SetKind set = SetKind::flat;
  bool other_zone = false;  ///< a mirror not tried yet is in a zone that was not left
  /// A mirror that suits as well was not tried yet, and is not known to be behind.
  bool up_to_date_left = false;
};

/// Why there is no further attempt.
enum class Final : std::uint8_t {
  no,  ///< there is one
  answered,
  not_retryable,  ///< the error, or for a request of this kind
  switched_off,   ///< retry_reads, retry_writes
  limit,          ///< of its reason
  max_attempts,
  deadline,
  no_token,
};

/// What is to be done after an attempt.
struct Decision {
  /// `newest_behind`: of the mirrors that said they are behind, the one known to have seen most.
  enum class Prefer : std::uint8_t { any, newest_behind, primary };

  Final final = Final::not_retryable;
  AttemptReason reason = AttemptReason::initial;  ///< of the next attempt
  Micros pause{};               ///< before it; the connection goes back first (BP-014)
  bool avoid = false;           ///< the mirror, while there are others (BP-008, X-1)
  bool leave_zone = false;      ///< avoid all mirrors of its zone, likewise (CO-030)
  Prefer prefer = Prefer::any;  ///< for the next attempt, if it is there
  Micros unavailable{};  ///< if not 0: the mirror is not to be asked for this shard that long, or
                         ///< until a ping says otherwise; also after the last attempt
  Micros retry_after{};  ///< likewise, as the mirror itself asked: whatever pings say
  bool refresh = false;  ///< what is known of the set or the plan is old (CO-030, CO-051 … CO-053)
  int status = 0;        ///< to report instead of the last answer's, if not 0 (CO-056)

  bool is_retry() const { return final == Final::no; }
};

/// The retries of one shard's part of a query, decided one ended attempt at a time: overload
/// (BP-003 … BP-016), inside it throttling (CO-020), zones (CO-030 …) and moves (CO-050 …). Pure:
/// no clock, no chance, no shared state but the bucket passed in. Nothing allocates. `rules` must
/// outlive it.
class RetryLoop {
 public:
  RetryLoop(const RetryRules& rules, const RetrySubject& subject)
      : rules_(rules), subject_(subject) {}

  /// To be called once for each attempt, answered or not; after a final decision no more. `left`
  /// until the query's deadline; `jitter` in [0, 1), drawn anew; `bucket` of the mirror set, may be
  /// missing. A decision to go on counts the next attempt as made.
  Decision after(const AttemptSummary& ended, Micros left, double jitter, TokenBucket* bucket);

  /// Counts a hedge as an attempt; false when the attempts are used up.
  bool may_hedge();

  unsigned attempts() const { return attempts_; }

 private:
  struct Moment;

  Decision ordinary(const Moment& now);
  Decision overload(const Moment& now, TokenBucket* bucket);
  Decision throttled(const Moment& now);
  Decision moved(const Moment& now, AttemptReason reason);
  Decision conflict(const Moment& now);
  Decision elsewhere(const Moment& now, AttemptReason reason);
  std::optional<Decision> next_zone(const Moment& now);
  Decision generation_low(const Moment& now);
  Decision new_primary();
  Decision decide(const Moment& now, TokenBucket* bucket);

  unsigned most_attempts() const;
  bool switched_on() const;
  bool may_repeat(const AttemptSummary& ended) const;
  Doubling backoff_limits(const ErrorHint& hint) const;

  const RetryRules& rules_;
  RetrySubject subject_;
  unsigned attempts_ = 1;  // made or decided, hedges included
  unsigned answers_ = 0;   // attempts that ended
  unsigned retries_ = 0;   // `attempt` of BP-003: all but the throttled (CO-021)
  unsigned ordinary_ = 0;
  unsigned throttled_ = 0;
  unsigned direct_ = 0;     // 410 and 449: the first is free, whichever it is (CO-056)
  unsigned moves_ = 0;      // pauses of 410 made
  unsigned conflicts_ = 0;  // pauses of 449 made
  unsigned recreated_ = 0;  // answers
  unsigned generation_steps_ = 0;
  unsigned generation_moves_ = 0;
  unsigned zones_left_ = 0;
  unsigned zone_answers_ = 0;  // of them, because of an answer
  Micros throttle_waited_{};
  Micros generation_waited_{};
  bool overload_met_ = false;
  bool conflict_met_ = false;
  bool primary_changed_ = false;
};

}  // namespace karmad
