#include <gtest/gtest.h>

#include "tests/balancer/dispatch/retry_story.hpp"

namespace karmad {
namespace {

using namespace testing;

TEST(RetryLoop, EndsWithAnAnswer) {
  Story story;
  EXPECT_EQ(story.play({kAnswered}), 1U);
  EXPECT_EQ(story.final, Final::answered);
}

// Overload: section 4, vector 10.5

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

TEST(RetryLoop, TakesTheBaseTheMirrorTells) {  // BP-016
  auto told = overloaded();
  told.advice.backoff_base = 50ms;
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
  ended.advice.retryable = false;
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
    EXPECT_EQ(story.final, c.attempts == 1 ? Final::switched_off : Final::max_attempts);
  }
}

// Adaptive retries: vector 10.5

constexpr RetryRules kAdaptive{.adaptive_retries = true};

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
  const auto never_connected = Ended{.outcome = Outcome::connect_failed};
  const struct {
    std::vector<Ended> answers;
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
  for (const auto reason : story.reasons) EXPECT_EQ(reason, Reason::retry);
}

TEST(RetryLoop, BacksOffWhenNoMirrorCanBeReached) {  // X-16, SD-022
  const auto unreachable = Ended{.outcome = Outcome::connect_failed};
  Story story{.subject = {.mirrors = 2, .ordinary = {.per_mirror = 2, .delay = 150ms}},
              .jitter = 1};
  story.play({unreachable, tried(2, unreachable)});
  EXPECT_EQ(story.pauses, (Pauses{0us, 200ms, 400ms, 800ms}));
}

TEST(RetryLoop, AvoidsTheMirrorByKindOfSet) {  // X-1, BP-008, BP-062
  const struct {
    Ended ended;
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
    ASSERT_TRUE(decision.again());
    EXPECT_EQ(decision.avoid, c.avoid) << name(decision.reason) << " in " << name(c.ended.set);
  }
}

TEST(RetryLoop, RepeatsAWriteOnlyWhenItWasNotExecuted) {  // BP-060, BP-009
  const auto not_sent = Ended{.outcome = Outcome::broken, .sent = false};
  for (const auto kind : {RequestClass::write, RequestClass::unclassified}) {
    const struct {
      Ended ended;
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
      EXPECT_EQ(loop.after(c.ended, 1s, 0, nullptr).again(), c.again);
    }
  }
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
  EXPECT_EQ(story.reasons, (std::vector{Reason::retry, Reason::throttled, Reason::moved,
                                        Reason::overload, Reason::conflict}));
}

TEST(RetryLoop, HedgesAreAttemptsToo) {  // max_attempts
  const RetryRules rules{.max_attempts = 3};
  RetryLoop loop(rules, {.mirrors = 3, .ordinary = {.per_mirror = 2}});
  EXPECT_TRUE(loop.may_hedge());
  EXPECT_TRUE(loop.after(kBroken, 1s, 0, nullptr).again());
  EXPECT_FALSE(loop.may_hedge());
  EXPECT_EQ(loop.after(kBroken, 1s, 0, nullptr).final, Final::max_attempts);
  EXPECT_EQ(loop.attempts(), 3U);
}

TEST(RetryLoop, AFailedSelectionIsReportedOnlyWhenNothingFailedBefore) {  // step 10, BP-063
  const RetryRules rules;
  RetryLoop loop(rules, {.mirrors = 3});
  EXPECT_FALSE(loop.reports_earlier_error());
  ASSERT_TRUE(loop.after(overloaded(), 1s, 0, nullptr).again());
  EXPECT_TRUE(loop.reports_earlier_error());
}

// Throttling: CO-020, CO-021, vector 10.9

TEST(RetryLoop, WaitsAsLongAsAThrottlingMirrorTells) {
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

TEST(RetryLoop, WaitsForNobodyWhileAnotherMirrorWasNotAsked) {  // CO-036
  for (const auto delay : {1s, 0s, 30s}) {
    auto ended = throttled(delay);
    ended.tried = 1;
    const RetryRules rules;
    RetryLoop loop(rules, {.mirrors = 2});
    const auto decision = loop.after(ended, 2s, 0, nullptr);
    ASSERT_TRUE(decision.again());
    EXPECT_TRUE(decision.avoid);
    EXPECT_EQ(decision.pause, 0us);
    EXPECT_EQ(decision.unavailable, delay == 0s ? 5s : delay) << "others shall not ask it either";
  }
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
