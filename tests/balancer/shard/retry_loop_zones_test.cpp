#include <gtest/gtest.h>

#include "tests/balancer/shard/retry_story.hpp"

namespace karmad {
namespace {

using namespace testing;

// Zones: CO-030 … CO-038

constexpr AttemptSummary kUnreachable{.outcome = Outcome::connect_failed, .other_zone = true};

constexpr AttemptSummary answer_of(unsigned status) {
  return {.outcome = Outcome::agent_error, .status = status, .sent = true, .other_zone = true};
}

TEST(RetryLoop, GoesToAnotherZoneWhenAMirrorCannotBeReached) {  // CO-030
  const RetryRules rules;
  for (const auto outcome : {Outcome::connect_failed, Outcome::connect_timeout}) {
    RetryLoop loop(rules, {.mirrors = 4});
    const auto next = loop.after({.outcome = outcome, .other_zone = true}, 1s, 0, nullptr);
    EXPECT_TRUE(next.is_retry() && next.avoid && next.leave_zone && next.refresh);
    EXPECT_EQ(next.reason, AttemptReason::zone);
    EXPECT_EQ(next.pause, 0us);
    EXPECT_EQ(next.unavailable, 1s);
  }
}

TEST(RetryLoop, StaysWhereThereIsNoOtherZone) {  // CO-030
  const RetryRules rules;
  RetryLoop loop(rules, {.mirrors = 4});
  const auto next = loop.after({.outcome = Outcome::connect_failed}, 1s, 0, nullptr);
  EXPECT_TRUE(next.is_retry() && !next.leave_zone);
  EXPECT_EQ(next.reason, AttemptReason::retry);
  EXPECT_EQ(next.unavailable, 0us);
}

TEST(RetryLoop, LeavesThreeZonesAtMost) {  // CO-031
  for (unsigned most = 0; most <= 3; ++most) {
    Story story{.rules = {.zone_max_retries = most},
                .subject = {.mirrors = 8, .ordinary = {.absolute_of_line = 1}}};
    EXPECT_EQ(story.play({kUnreachable}), most + 2) << "and the ordinary retry";
    EXPECT_EQ(std::ranges::count(story.reasons, AttemptReason::zone), most);
  }
}

TEST(RetryLoop, LeavesAZoneOnceBecauseOfAnAnswer) {  // CO-036, CO-037
  const AttemptSummary lost{.outcome = Outcome::client_mistake,
                            .hint = {.kind = Kind::lost_copy},
                            .status = 410,
                            .sent = true,
                            .other_zone = true};
  for (const auto& ended : {answer_of(503), answer_of(500), lost}) {
    Story story{.rules = unlimited(), .subject = {.mirrors = 8, .ordinary = {.per_mirror = 1}}};
    story.play({ended, ended, kAnswered});
    ASSERT_EQ(story.reasons.size(), 2U);
    EXPECT_EQ(story.reasons[0], AttemptReason::zone);
    EXPECT_NE(story.reasons[1], AttemptReason::zone);
  }
  Story other{.subject = {.mirrors = 8}};
  other.play({answer_of(502), kAnswered});
  EXPECT_EQ(other.reasons, std::vector{AttemptReason::retry});
}

TEST(RetryLoop, AnUpdateLeavesAZoneOnlyWhenNothingWasSent) {  // CO-037
  const RetryRules rules;
  const RetrySubject update{.kind = RequestClass::write, .has_idempotency_key = true, .mirrors = 4};
  EXPECT_EQ(RetryLoop(rules, update).after(answer_of(503), 1s, 0, nullptr).reason,
            AttemptReason::retry);
  EXPECT_EQ(RetryLoop(rules, update).after(kUnreachable, 1s, 0, nullptr).reason,
            AttemptReason::zone);
}

TEST(RetryLoop, ADrainingMirrorSpeaksForItsZone) {  // CO-033
  const RetryRules rules;
  RetryLoop loop(rules, {.mirrors = 4});
  auto ended = refused(Kind::draining);
  ended.other_zone = true;
  const auto next = loop.after(ended, 1s, 0, nullptr);
  EXPECT_TRUE(next.is_retry() && next.leave_zone);
  EXPECT_EQ(next.unavailable, 5min);
}

TEST(RetryLoop, WithoutRetriesLeavesNoZone) {
  const RetryRules rules;
  const RetrySubject none{.mirrors = 4, .ordinary = {.per_mirror = 0}};
  EXPECT_FALSE(RetryLoop(rules, none).after(kUnreachable, 1s, 0, nullptr).is_retry());
}

}  // namespace
}  // namespace karmad
