#include <gtest/gtest.h>

#include "tests/balancer/shard/retry_story.hpp"

namespace karmad {
namespace {

using namespace testing;

// 410, 449, 404/1002, 403/1008: CO-033 … CO-035, CO-050 … CO-058

TEST(RetryLoop, PausesForAMovedShardAsTheVectorsSay) {  // CO-050 … CO-054
  for (const auto kind : {Kind::moved, Kind::migrating}) {
    Story story{.rules = products(), .left = 30s};
    story.play({refused(kind)});
    EXPECT_EQ(story.pauses, (Pauses{0s, 1s, 2s, 4s, 8s, 15s}));
    EXPECT_EQ(story.final, Final::deadline);
    EXPECT_EQ(story.last.status, 503);
  }
}

TEST(RetryLoop, PausesForAMovedShardBriefly) {  // CO-054, ours
  Story story{.rules = unlimited(), .left = 4s};
  story.play({refused(Kind::moved)});
  EXPECT_EQ(story.pauses, (Pauses{0ms, 50ms, 100ms, 200ms, 400ms, 800ms, 1s, 1s, 450ms}));
}

TEST(RetryLoop, LeavesTheRetryTimeToExecute) {  // CO-056
  Story story{.left = 60ms};
  story.play({refused(Kind::moved), refused(Kind::moved), kAnswered});
  EXPECT_EQ(story.pauses, (Pauses{0ms, 10ms}));
}

// CO-056: one attempt at the end, and none without its pause.
TEST(RetryLoop, DoesNotAskWithoutAPauseShortlyBeforeTheDeadline) {
  for (const auto kind : {Kind::moved, Kind::migrating, Kind::retry_with})
    for (const auto left : {200ms, 60ms, 51ms, 50ms, 20ms, 1ms}) {
      Story story{.rules = {.max_attempts = 1000}, .left = left};
      story.play({refused(kind)});
      EXPECT_EQ(story.final, Final::deadline);
      ASSERT_FALSE(story.pauses.empty());
      EXPECT_EQ(story.pauses.front(), 0ms) << "the first retry has no pause in any case";
      Micros paused{};
      for (std::size_t i = 1; i < story.pauses.size(); ++i) {
        EXPECT_GT(story.pauses[i], 0us) << left.count();
        paused += story.pauses[i];
      }
      EXPECT_EQ(paused, std::max<Micros>(left - 50ms, 0us)) << left.count();
    }
}

TEST(RetryLoop, ARecreatedIndexAllowsTwoRetries) {  // CO-053
  Story story{.rules = products()};
  EXPECT_EQ(story.play({refused(Kind::recreated)}), 3U);
  EXPECT_EQ(story.final, Final::limit);
}

TEST(RetryLoop, PausesForAConflictAsTheVectorsSay) {  // CO-055
  Story story{.rules = products()};
  story.rules.max_attempts = 11;
  story.play({refused(Kind::retry_with)});
  EXPECT_EQ(story.pauses, (Pauses{0ms, 10ms, 20ms, 40ms, 80ms, 160ms, 320ms, 640ms, 1s, 1s}));
}

TEST(RetryLoop, SaltsThePauseForAConflict) {  // CO-056: 1 … 4 ms, within the cap
  for (const auto& [jitter, salt] : {std::pair{0.0, 1ms}, {0.25, 2ms}, {0.5, 3ms}, {0.999, 4ms}}) {
    Story story{.rules = unlimited(), .jitter = jitter};
    story.rules.max_attempts = 10;
    story.play({refused(Kind::retry_with)});
    EXPECT_EQ(story.pauses[0], 0ms);
    EXPECT_EQ(story.pauses[1], 10ms + salt);
    EXPECT_EQ(story.pauses[8], 1s);
  }
}

TEST(RetryLoop, ConflictAndMoveShareTheFreeRetry) {  // CO-056
  Story story{.rules = products()};
  story.rules.max_attempts = 4;
  story.play({refused(Kind::moved), refused(Kind::retry_with), refused(Kind::moved)});
  EXPECT_EQ(story.pauses, (Pauses{0ms, 10ms, 1s}));
}

TEST(RetryLoop, ReportsTheEarlierConflict) {  // CO-056
  Story story;
  story.play({refused(Kind::retry_with), refused(Kind::moved)});
  EXPECT_EQ(story.last.status, 449);
  Story conflict;
  conflict.play({refused(Kind::moved), refused(Kind::retry_with)});
  EXPECT_EQ(conflict.last.status, 449);
}

TEST(RetryLoop, AsksAnotherMirrorWhenACopyIsLost) {  // CO-057
  Story story;
  EXPECT_EQ(story.play({refused(Kind::lost_copy), tried(2, refused(Kind::lost_copy)),
                        tried(3, refused(Kind::lost_copy))}),
            3U);
  EXPECT_EQ(story.pauses, (Pauses{0us, 0us}));
  EXPECT_FALSE(story.last.refresh);
}

TEST(RetryLoop, MarksADrainingMirror) {  // CO-033
  const RetryRules rules;
  RetryLoop loop(rules, {.mirrors = 2});
  auto decision = loop.after(refused(Kind::draining), 1s, 0, nullptr);
  EXPECT_TRUE(decision.is_retry() && decision.avoid && !decision.refresh);
  EXPECT_EQ(decision.pause, 0us);
  EXPECT_EQ(decision.unavailable, 5min);
  decision = loop.after(tried(2, refused(Kind::draining)), 1s, 0, nullptr);
  EXPECT_FALSE(decision.is_retry());
  EXPECT_EQ(decision.unavailable, 5min) << "others shall not ask it either";
}

TEST(RetryLoop, WaitsForAGenerationAsTheVectorsSay) {  // CO-035
  Story story{.rules = products()};
  story.play({tried(3, refused(Kind::generation_low))});
  EXPECT_EQ(story.pauses, (Pauses{0ms, 5ms, 25ms, 125ms, 500ms, 500ms, 500ms, 500ms, 500ms, 500ms,
                                  500ms, 500ms, 500ms, 345ms}));
}

TEST(RetryLoop, GoesOnToWhereTheGenerationIs) {  // CO-034, CO-035
  const auto decisions = [](const AttemptSummary& ended) {
    const RetryRules rules{.max_attempts = 100};
    RetryLoop loop(rules, {.mirrors = 2});
    std::vector<std::pair<Prefer, bool>> all;
    for (auto next = loop.after(ended, 1s, 0, nullptr); next.is_retry();
         next = loop.after(ended, 1s, 0, nullptr))
      all.emplace_back(next.prefer, next.avoid);
    return all;
  };
  const std::pair local{Prefer::newest_behind, true};
  const std::pair primary{Prefer::primary, true};
  EXPECT_EQ(decisions(in_roles(refused(Kind::generation_low))),
            (std::vector{local, local, local, primary, primary}));
  EXPECT_EQ(decisions(tried(2, refused(Kind::generation_low))), (std::vector{local, local, local}));

  const RetryRules rules{.generation_wait = 0us};
  RetryLoop loop(rules, {.mirrors = 2});
  const auto next = loop.after(refused(Kind::generation_low), 1s, 0, nullptr);
  EXPECT_TRUE(next.is_retry() && next.avoid);
  EXPECT_EQ(next.prefer, Prefer::any);
}

TEST(RetryLoop, GoesOnAtOnceWhileAMirrorIsNotKnownToBeBehind) {  // CO-077
  auto other = in_roles(refused(Kind::generation_low));
  other.up_to_date_left = true;
  const auto none = in_roles(refused(Kind::generation_low));
  const RetryRules rules{.max_attempts = 100};
  RetryLoop loop(rules, {.mirrors = 4});
  for (int i = 0; i < 2; ++i) {
    const auto next = loop.after(other, 1s, 0, nullptr);
    EXPECT_EQ(next.prefer, Prefer::any);
    EXPECT_EQ(next.pause, 0us);
    EXPECT_TRUE(next.avoid);
  }
  EXPECT_EQ(loop.after(none, 1s, 0, nullptr).prefer, Prefer::newest_behind);
  EXPECT_EQ(loop.after(none, 1s, 0, nullptr).pause, 5ms) << "no wait before";

  const RetryRules few{.max_attempts = 3};
  RetryLoop last(few, {.mirrors = 4});
  EXPECT_EQ(last.after(other, 1s, 0, nullptr).prefer, Prefer::any);
  EXPECT_EQ(last.after(other, 1s, 0, nullptr).prefer, Prefer::primary);
  other.set = SetKind::flat;
  RetryLoop flat(few, {.mirrors = 4});
  for (int i = 0; i < 2; ++i) EXPECT_EQ(flat.after(other, 1s, 0, nullptr).prefer, Prefer::any);
}

TEST(RetryLoop, PassesOnEverythingElse) {  // CO-058
  Story story;
  EXPECT_EQ(story.play({refused(Kind::none)}), 1U);
  EXPECT_EQ(story.final, Final::not_retryable);
  Story timeout;
  EXPECT_EQ(timeout.play({{.outcome = Outcome::query_timeout, .sent = true}}), 1U);  // HA-026
}

}  // namespace
}  // namespace karmad
