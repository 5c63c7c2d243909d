#pragma once

#include <algorithm>
#include <chrono>
#include <vector>

#include "balancer/rules/retry_plan.hpp"

namespace karmad::testing {

using namespace std::chrono_literals;
using Kind = ErrorHint::Kind;
using Prefer = Decision::Prefer;
using Pauses = std::vector<Micros>;

inline constexpr AttemptSummary kAnswered{.outcome = Outcome::answered, .sent = true};
inline constexpr AttemptSummary kBroken{.outcome = Outcome::broken, .sent = true};

/// A status that means a mistake of the client and belongs to no kind of hint.
constexpr AttemptSummary refused(Kind kind) {
  return {.outcome = Outcome::client_mistake, .hint = {.kind = kind}, .sent = true};
}

constexpr AttemptSummary overloaded() {
  return {.outcome = Outcome::agent_error,
          .hint = {.kind = Kind::overload, .overload = true, .retryable = true},
          .sent = true};
}

constexpr AttemptSummary throttled(Micros delay) {
  auto ended = overloaded();
  ended.hint.kind = Kind::throttled;
  ended.hint.delay = delay;
  ended.tried = 3;  // all mirrors; otherwise another one is asked
  return ended;
}

constexpr AttemptSummary in_roles(AttemptSummary ended) {
  ended.set = SetKind::roles;
  return ended;
}

constexpr AttemptSummary tried(std::size_t mirrors, AttemptSummary ended) {
  ended.tried = mirrors;
  return ended;
}

/// Nothing but the reason under test ends the loop.
inline RetryRules unlimited() {
  return {.overload_max_retries = 10, .max_attempts = 1000, .min_execution = 0us};
}

/// The rules of the products whose test vectors are used.
inline RetryRules products() {
  auto rules = unlimited();
  rules.throttle_max_wait = 30s;
  rules.moved_pause = {1s, 15s};
  rules.conflict_salt_ms = 0;
  rules.generation_wait = 5s;
  return rules;
}

/// One shard request with scripted time and chance: attempts take no time, pauses do.
struct Story {
  RetryRules rules;
  RetrySubject subject{.mirrors = 3};
  Micros left = 1h;
  double jitter = 0;
  TokenBucket* bucket = nullptr;

  Pauses pauses;
  std::vector<AttemptReason> reasons;
  Final final = Final::no;
  Decision last;

  /// The answers in order, the last of them for ever.
  unsigned play(const std::vector<AttemptSummary>& answers) {
    RetryLoop loop(rules, subject);
    for (std::size_t i = 0;; ++i) {
      last = loop.after(answers[std::min(i, answers.size() - 1)], left, jitter, bucket);
      final = last.final;
      if (!last.is_retry()) return loop.attempts();
      pauses.push_back(last.pause);
      reasons.push_back(last.reason);
      left -= last.pause;
    }
  }
};

}  // namespace karmad::testing
