#include <gtest/gtest.h>

#include "tests/balancer/shard/retry_story.hpp"

namespace karmad {
namespace {

using namespace testing;

TEST(RetryLoop, EndsWithAnAnswer) {
  Story story;
  EXPECT_EQ(story.play({kAnswered}), 1U);
  EXPECT_EQ(story.final, Final::answered);
}

// Overload: BP-002 … BP-016

TEST(RetryLoop, TriesAMirrorThatStaysOverloadedSixTimes) {  // BP-004, BP-007
  Story story{.jitter = 0.999999};
  EXPECT_EQ(story.play({overloaded()}), 6U);
  EXPECT_EQ(story.pauses.size(), 5U);
  Micros sum{};
  for (const auto pause : story.pauses) sum += pause;
  EXPECT_GT(sum, 3099ms);
  EXPECT_LE(sum, 3100ms);
}

TEST(RetryLoop, BacksOffAsTheVectorsSay) {  // BP-007, X-2, X-3
  Story story{.rules = unlimited(), .jitter = 1};
  EXPECT_EQ(story.play({overloaded()}), 11U);
  EXPECT_EQ(story.pauses,
            (Pauses{100ms, 200ms, 400ms, 800ms, 1600ms, 3200ms, 6400ms, 10s, 10s, 10s}));
}

TEST(RetryLoop, TakesTheBaseThatTheMirrorNames) {  // BP-016
  auto told = overloaded();
  told.hint.backoff_base = 50ms;
  Story story{.rules = {.overload_max_retries = 2}, .jitter = 1};
  story.play({told});
  EXPECT_EQ(story.pauses, (Pauses{50ms, 100ms}));
}

TEST(RetryLoop, OverloadRetriesAreASetting) {
  for (unsigned retries = 0; retries <= 10; ++retries) {
    Story story{.rules = {.overload_max_retries = retries, .max_attempts = 20}};
    EXPECT_EQ(story.play({overloaded()}), retries + 1);
    EXPECT_EQ(story.final, Final::limit);
  }
}

TEST(RetryLoop, NeverWaitsPastTheDeadline) {  // BP-005
  Story story{.left = 250ms, .jitter = 1};
  EXPECT_EQ(story.play({overloaded()}), 2U) << "100 ms fit, the 200 ms after them do not";
  EXPECT_EQ(story.final, Final::deadline);
  for (const auto& ended :
       {overloaded(), throttled(1ms), kBroken, refused(Kind::moved), refused(Kind::retry_with),
        refused(Kind::generation_low), refused(Kind::draining)}) {
    Story late{.left = 0us};
    EXPECT_EQ(late.play({ended}), 1U);
    EXPECT_EQ(late.final, Final::deadline);
  }
}

TEST(RetryLoop, PassesOnOverloadThatIsNotRetryable) {  // BP-013
  auto ended = overloaded();
  ended.hint.retryable = false;
  Story story;
  EXPECT_EQ(story.play({ended}), 1U);
  EXPECT_EQ(story.final, Final::not_retryable);
}

TEST(RetryLoop, OnceOverloadWasMetItsLimitIsThatOfTheRequest) {  // BP-012
  Story once{.subject = {.mirrors = 3}};
  EXPECT_EQ(once.play({kBroken}), 3U) << "each mirror once";
  Story met;
  EXPECT_EQ(met.play({overloaded(), kBroken}), 6U);
  Story fewer{.rules = {.overload_max_retries = 1},
              .subject = {.mirrors = 3, .ordinary = {.per_mirror = 1}}};
  EXPECT_EQ(fewer.play({kBroken, kBroken, overloaded()}), 3U);
  EXPECT_EQ(fewer.final, Final::limit);
}

TEST(RetryLoop, CountsOrdinaryRetriesInTheExponent) {  // BP-003
  Story story{.jitter = 1};
  story.play({kBroken, overloaded(), kAnswered});
  EXPECT_EQ(story.pauses, (Pauses{0us, 200ms}));
}

TEST(RetryLoop, NeedsTheSwitchOfItsClass) {  // BP-006, BP-010
  const struct {
    RequestClass kind;
    bool reads;
    bool writes;
    unsigned attempts;
  } cases[] = {
      {RequestClass::read, true, false, 6},         {RequestClass::read, false, true, 1},
      {RequestClass::write, false, true, 6},        {RequestClass::write, true, false, 1},
      {RequestClass::unclassified, true, true, 6},  {RequestClass::unclassified, true, false, 1},
      {RequestClass::unclassified, false, true, 1},
  };
  for (const auto& c : cases) {
    Story story{.rules = {.retry_reads = c.reads, .retry_writes = c.writes},
                .subject = {.kind = c.kind}};
    EXPECT_EQ(story.play({overloaded()}), c.attempts);
    EXPECT_EQ(story.final, c.attempts == 1 ? Final::switched_off : Final::limit);
  }
}

// Adaptive retries: BP-020 … BP-026

const RetryRules kAdaptive{.adaptive_retries = true};

TEST(RetryLoop, AnOverloadRetryNeedsAToken) {  // BP-025
  TokenBucket bucket(2);
  Story story{.rules = kAdaptive, .bucket = &bucket};
  EXPECT_EQ(story.play({overloaded(), overloaded(), overloaded(), kAnswered}), 3U);
  EXPECT_EQ(story.final, Final::no_token);
}

TEST(RetryLoop, LeavesTheBucketAloneUnlessAdaptive) {  // BP-020, X-4
  TokenBucket bucket(2);
  Story story{.bucket = &bucket};
  EXPECT_EQ(story.play({overloaded()}), 6U);
  EXPECT_EQ(bucket.tenths(), 20);
}

TEST(RetryLoop, DepositsAsTheVectorsSay) {  // BP-022 … BP-025
  const auto never_connected = AttemptSummary{.outcome = Outcome::connect_failed};
  const struct {
    std::vector<AttemptSummary> answers;
    int tenths;
  } cases[] = {
      {{kAnswered}, 1},
      {{overloaded(), kAnswered}, -10 + 11},
      {{overloaded(), refused(Kind::none)}, -10 + 10},
      {{refused(Kind::none)}, 0},  // a first attempt that fails deposits nothing
      {{kBroken, kAnswered}, 11},  //
      {{kBroken, refused(Kind::none)}, 10},
      {{kBroken, never_connected}, 0},    // SD-022: that is overload
      {{throttled(1ms), kAnswered}, 11},  // no token taken
  };
  for (const auto& c : cases) {
    TokenBucket bucket(5);
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(bucket.take());
    Story story{.rules = kAdaptive, .bucket = &bucket};
    story.play(c.answers);
    EXPECT_EQ(bucket.tenths(), 20 + c.tenths);
  }
}

TEST(RetryLoop, TakesNoTokenForARetryThatIsNotMade) {  // BP-025: after the deadline check
  TokenBucket bucket(5);
  Story late{.rules = kAdaptive, .left = 50ms, .jitter = 1, .bucket = &bucket};
  late.play({overloaded()});
  Story full{.rules = {.adaptive_retries = true, .max_attempts = 1}, .bucket = &bucket};
  full.play({overloaded()});
  EXPECT_EQ(bucket.tenths(), 50);
}

// Ordinary retries: BP-060 …, X-15, X-16

TEST(RetryLoop, OrdinaryRetriesGoAtOnceToAMirrorNotTried) {  // X-16, BP-011
  Story story{.subject = {.mirrors = 3, .ordinary = {.per_mirror = 1, .delay = 500ms}}};
  EXPECT_EQ(story.play({kBroken, tried(2, kBroken), tried(3, kBroken)}), 4U);
  EXPECT_EQ(story.pauses, (Pauses{0us, 0us, 500ms}));
  for (const auto reason : story.reasons) EXPECT_EQ(reason, AttemptReason::retry);
}

TEST(RetryLoop, BacksOffWhenNoMirrorCanBeReached) {  // X-16, SD-022
  const auto unreachable = AttemptSummary{.outcome = Outcome::connect_failed};
  Story story{.subject = {.mirrors = 2, .ordinary = {.per_mirror = 2, .delay = 150ms}},
              .jitter = 1};
  story.play({unreachable, tried(2, unreachable)});
  EXPECT_EQ(story.pauses, (Pauses{0us, 200ms, 400ms, 800ms}));
}

TEST(RetryLoop, AvoidsTheMirrorByKindOfSet) {  // X-1, BP-008, BP-062
  const struct {
    AttemptSummary ended;
    bool retarget;
    bool avoid;
  } cases[] = {
      {overloaded(), true, true},
      {overloaded(), false, true},  // flat: every retryable error
      {refused(Kind::retry_with), true, true},
      {refused(Kind::migrating), true, true},
      {in_roles(overloaded()), true, true},
      {in_roles(overloaded()), false, false},
      {in_roles(throttled(1ms)), false, false},
      {in_roles(kBroken), false, true},  // ours: an ordinary retry is elsewhere
      {in_roles(refused(Kind::retry_with)), true, false},
      {in_roles(refused(Kind::migrating)), true, false},
      {in_roles(refused(Kind::moved)), true, true},
      {in_roles(refused(Kind::draining)), true, true},
  };
  for (const auto& c : cases) {
    const RetryRules rules{.overload_retarget = c.retarget};
    RetryLoop loop(rules, {.mirrors = 3});
    const auto decision = loop.after(c.ended, 1s, 0, nullptr);
    ASSERT_TRUE(decision.is_retry());
    EXPECT_EQ(decision.avoid, c.avoid) << name(decision.reason) << " in " << name(c.ended.set);
  }
}

TEST(RetryLoop, RepeatsAWriteOnlyWhenItWasNotExecuted) {  // BP-060, BP-009
  const auto not_sent = AttemptSummary{.outcome = Outcome::broken, .sent = false};
  for (const auto kind : {RequestClass::write, RequestClass::unclassified}) {
    const struct {
      AttemptSummary ended;
      bool key;
      bool again;
    } cases[] = {
        {kBroken, false, false},
        {kBroken, true, true},
        {not_sent, false, true},
        {overloaded(), false, true},
        {throttled(1ms), false, true},
        {refused(Kind::retry_with), false, true},
        {refused(Kind::none), true, false},
    };
    for (const auto& c : cases) {
      const RetryRules rules;
      RetryLoop loop(rules, {.kind = kind, .has_idempotency_key = c.key, .mirrors = 3});
      EXPECT_EQ(loop.after(c.ended, 1s, 0, nullptr).is_retry(), c.again);
    }
  }
}

TEST(RetryLoop, AnUpdateThatAFormerPrimaryRefusedGoesOnOnce) {  // CO-032, BP-060
  AttemptSummary refusal{.outcome = Outcome::agent_error, .sent = true, .nothing_done = true};
  refusal = in_roles(refusal);
  for (const auto kind : {RequestClass::write, RequestClass::unclassified})
    for (const bool key : {false, true}) {
      Story story{.subject = {.kind = kind,
                              .has_idempotency_key = key,
                              .mirrors = 3,
                              .ordinary = {.per_mirror = 0}}};
      EXPECT_EQ(story.play({refusal}), 2U);
      EXPECT_EQ(story.reasons, std::vector{AttemptReason::new_primary});
      EXPECT_EQ(story.pauses, Pauses{0us});
      EXPECT_EQ(story.final, Final::limit);
    }
  Story off{.rules = {.retry_writes = false}, .subject = {.kind = RequestClass::write}};
  EXPECT_EQ(off.play({refusal}), 1U);
  Story read{.subject = {.mirrors = 2}};
  EXPECT_EQ(read.play({refusal}), 2U);
  EXPECT_EQ(read.reasons, std::vector{AttemptReason::retry}) << "a search needs no primary";
  Story broken{.subject = {.kind = RequestClass::write, .mirrors = 3}};
  EXPECT_EQ(broken.play({refusal, in_roles(kBroken)}), 2U);
  EXPECT_EQ(broken.final, Final::not_retryable) << "the new primary may have carried it out";
}

TEST(RetryLoop, RetriesNothingForAClientThatLeft) {  // CO-045
  Story story{.subject = {.mirrors = 3, .ordinary = {.per_mirror = 5}}};
  EXPECT_EQ(story.play({{.outcome = Outcome::cancelled}}), 1U);
}

TEST(RetryLoop, LimitsAllReasonsTogether) {  // max_attempts
  Story story{.rules = {.overload_max_retries = 10, .throttle_max_retries = 20, .max_attempts = 6},
              .subject = {.mirrors = 3, .ordinary = {.per_mirror = 10}}};
  EXPECT_EQ(story.play({kBroken, throttled(1ms), refused(Kind::moved), overloaded(),
                        refused(Kind::retry_with), refused(Kind::generation_low)}),
            6U);
  EXPECT_EQ(story.final, Final::max_attempts);
  EXPECT_EQ(story.reasons,
            (std::vector{AttemptReason::retry, AttemptReason::throttled, AttemptReason::moved,
                         AttemptReason::overload, AttemptReason::conflict}));
}

TEST(RetryLoop, HedgesAreAttemptsToo) {  // max_attempts
  const RetryRules rules{.max_attempts = 3};
  RetryLoop loop(rules, {.mirrors = 3, .ordinary = {.per_mirror = 2}});
  EXPECT_TRUE(loop.may_hedge());
  EXPECT_TRUE(loop.after(kBroken, 1s, 0, nullptr).is_retry());
  EXPECT_FALSE(loop.may_hedge());
  EXPECT_EQ(loop.after(kBroken, 1s, 0, nullptr).final, Final::max_attempts);
  EXPECT_EQ(loop.attempts(), 3U);
}

// Throttling: CO-020, CO-021

TEST(RetryLoop, WaitsAsLongAsAThrottlingMirrorDemands) {
  const struct {
    Micros delay;
    unsigned attempts;
  } cases[] = {{1s, 10}, {4s, 8}, {40s, 1}, {30s, 1}, {0s, 7}};  // 0: 5 s, six times in 30 s
  for (const auto& c : cases) {
    Story story{.rules = products()};
    EXPECT_EQ(story.play({throttled(c.delay)}), c.attempts) << c.delay.count();
    EXPECT_EQ(story.final, Final::limit);
    for (const auto pause : story.pauses) EXPECT_EQ(pause, c.delay == 0s ? 5s : c.delay);
  }
}

TEST(RetryLoop, DoesNotWaitWhileAnotherMirrorIsUntried) {  // CO-036
  for (const auto delay : {1s, 0s, 30s}) {
    auto ended = throttled(delay);
    ended.tried = 1;
    const RetryRules rules;
    RetryLoop loop(rules, {.mirrors = 2});
    const auto decision = loop.after(ended, 2s, 0, nullptr);
    ASSERT_TRUE(decision.is_retry());
    EXPECT_TRUE(decision.avoid);
    EXPECT_EQ(decision.pause, 0us);
    EXPECT_EQ(decision.retry_after, delay == 0s ? 5s : delay) << "others shall not ask it either";
    EXPECT_EQ(decision.unavailable, 0us);
  }
}

// CO-036: what a mirror told holds for all queries, whatever becomes of this one.
TEST(RetryLoop, ReportsTheDelayOfAThrottlingMirrorAfterTheLastAttemptToo) {
  const RetryRules rules;
  RetryLoop all_tried(rules, {.mirrors = 3});
  EXPECT_EQ(all_tried.after(throttled(20s), 1min, 0, nullptr).retry_after, 20s);
  const RetryRules off{.retry_reads = false};
  RetryLoop no_retries(off, {.mirrors = 3});
  const auto decision = no_retries.after(throttled(20s), 1min, 0, nullptr);
  EXPECT_EQ(decision.final, Final::switched_off);
  EXPECT_EQ(decision.retry_after, 20s);
  const RetryRules bounded{.unavailable_mark = 3s};
  RetryLoop short_mark(bounded, {.mirrors = 3});
  EXPECT_EQ(short_mark.after(throttled(20s), 1min, 0, nullptr).retry_after, 3s);
}

TEST(RetryLoop, SendsAFollowUpOfACursorAgainOnlyAfterARefusal) {  // BP-002, BP-061
  for (const auto& ended :
       {kBroken, refused(Kind::moved), refused(Kind::retry_with), refused(Kind::draining)}) {
    const RetryRules rules;
    RetryLoop loop(rules, {.follow_up = true, .mirrors = 3});
    EXPECT_EQ(loop.after(ended, 1min, 0, nullptr).final, Final::not_retryable);
  }
  auto told = throttled(20ms);
  told.tried = 1;
  const RetryRules rules;
  RetryLoop refused_once(rules, {.follow_up = true, .mirrors = 3});
  const auto decision = refused_once.after(told, 1min, 0, nullptr);
  EXPECT_TRUE(decision.is_retry()) << "the mirror did nothing";
  EXPECT_EQ(decision.pause, 20ms) << "and no other mirror has it";
}

// Whatever would allow it otherwise: there is nothing to send any more.
TEST(RetryLoop, NeverRepeatsABodyThatWasPassedOn) {
  for (auto ended : {kBroken, overloaded(), throttled(20ms), refused(Kind::moved),
                     refused(Kind::draining), in_roles(refused(Kind::lost_copy))})
    for (const auto kind : {RequestClass::read, RequestClass::write, RequestClass::unclassified})
      for (const bool nothing_done : {false, true}) {
        ended.nothing_done = nothing_done;
        ended.body_gone = true;
        Story story{.rules = unlimited(),
                    .subject = {.kind = kind, .has_idempotency_key = true, .mirrors = 3}};
        EXPECT_EQ(story.play({ended}), 1U);
        EXPECT_EQ(story.final, Final::not_retryable);
      }
}

TEST(RetryLoop, AsksAnotherMirrorWhenPingsFindTheMirrorUnreachable) {
  const RetryRules rules;
  const AttemptSummary ended{.outcome = Outcome::unreachable, .sent = true, .tried = 1};
  RetryLoop read(rules, {.mirrors = 2});
  const auto decision = read.after(ended, 1min, 0, nullptr);
  EXPECT_TRUE(decision.is_retry());
  EXPECT_TRUE(decision.avoid);
  EXPECT_EQ(decision.pause, 0us);
  RetryLoop update(rules, {.kind = RequestClass::write, .mirrors = 2});
  EXPECT_FALSE(update.after(ended, 1min, 0, nullptr).is_retry());
  RetryLoop with_key(rules,
                     {.kind = RequestClass::write, .has_idempotency_key = true, .mirrors = 2});
  EXPECT_TRUE(with_key.after(ended, 1min, 0, nullptr).is_retry());
}

TEST(RetryLoop, WaitsForAThrottlingMirrorThreeSecondsInAll) {  // CO-021, ours
  Story story{.rules = {.max_attempts = 100}};
  EXPECT_EQ(story.play({throttled(1s)}), 4U);
  Story long_wait;
  EXPECT_EQ(long_wait.play({throttled(3s)}), 1U);
  Story late{.left = 500ms};
  EXPECT_EQ(late.play({throttled(500ms)}), 1U);
  EXPECT_EQ(late.final, Final::deadline);
}

TEST(RetryLoop, ThrottlingCountsForNoOtherRule) {  // CO-021, X-11
  Story story{.rules = {.overload_max_retries = 1, .max_attempts = 100}, .jitter = 1};
  EXPECT_EQ(story.play({throttled(1ms), throttled(1ms), overloaded()}), 4U);
  EXPECT_EQ(story.pauses, (Pauses{1ms, 1ms, 100ms}));
}

}  // namespace
}  // namespace karmad
