#include "balancer/watch/mirror_condition.hpp"

#include <gtest/gtest.h>

namespace karmad {
namespace {

using namespace std::chrono_literals;
using enum MirrorCondition;

MirrorSigns well() {
  return {.answered = true,
          .recent = {.attempts = 100,
                     .queries = 100,
                     .query_time = 100 * 8ms,
                     .connects = 1,
                     .connect_time = 200us},
          .peers_mean = 8ms,
          .share = 1.0 / 3,
          .mirrors = 3,
          .attempts_of_set = 300};
}

MirrorSigns taking(Micros mean) {
  auto signs = well();
  signs.recent.query_time = 100 * mean;
  return signs;
}

TEST(MirrorCondition, IsReadyWithoutAReasonWhenNothingIsWrong) {
  const auto found = diagnose(well(), unknown);
  EXPECT_EQ(found.condition, ready);
  EXPECT_EQ(found.reason, "");
}

TEST(MirrorCondition, IsEjectedAsLongAsThatCounts) {
  auto signs = well();
  signs.ejected = "5 failures in a row; not admitted again for 8 s";
  EXPECT_EQ(diagnose(signs, ready).condition, ejected);
  EXPECT_EQ(diagnose(signs, ready).reason, *signs.ejected);
  signs.panic = true;
  EXPECT_EQ(diagnose(signs, ejected).condition, failing) << "it is asked";
  EXPECT_TRUE(diagnose(signs, ejected).reason.ends_with("too few mirrors are left (panic)"));
}

TEST(MirrorCondition, IsStartingWhileItHasAPartOfItsWeight) {
  auto signs = well();
  signs.started = 0.4;
  EXPECT_EQ(diagnose(signs, ready).condition, starting);
  EXPECT_EQ(diagnose(signs, ready).reason, "slow start, has 40 % of its weight");
}

TEST(MirrorCondition, IsUnknownUntilTheFirstAnswer) {
  EXPECT_EQ(diagnose({}, unknown).condition, unknown);
  EXPECT_EQ(diagnose({.errors_in_a_row = 1}, unknown).condition, unknown);
  EXPECT_EQ(diagnose({.errors_in_a_row = 2}, unknown).condition, failing);
}

TEST(MirrorCondition, IsTheWorstOfItsSigns) {
  auto signs = well();
  const auto expect = [&](MirrorCondition wanted) {
    EXPECT_EQ(diagnose(signs, ready).condition, wanted) << name(wanted);
  };
  signs.full = true;
  expect(full);
  signs.recent.query_time = 100 * 412ms;
  expect(slow);
  signs.unsuitable = "is a replica, only the primary is wanted";
  expect(unsuitable);
  signs.lags = true;
  expect(lagging);
  signs.errors_in_a_row = 2;
  expect(failing);
  signs.tripped = true;
  expect(breaker_open);
  signs.down = true;
  expect(dead);
  signs.unresolved = "host not found";
  expect(unresolved);
}

TEST(MirrorCondition, SaysWithNumbersWhyAMirrorIsSlow) {
  auto signs = taking(412ms);
  signs.share = 0.03;
  EXPECT_EQ(diagnose(signs, ready).reason,
            "queries take 412.0 ms on average, those of the other mirrors 8.0 ms; connecting takes "
            "0.2 ms, so the server itself is slow; gets 3 % of the attempts, an equal share is 33 "
            "%");
  signs.p95 = 700ms;
  EXPECT_FALSE(diagnose(signs, ready).reason.contains("p95"));
  signs.peers_p95 = 12ms;
  EXPECT_TRUE(
      diagnose(signs, ready)
          .reason.contains("; p95 of the last period 700.0 ms, others 12.0 ms; connecting"));
  signs.recent.connect_time = 300ms;
  EXPECT_TRUE(diagnose(signs, ready).reason.contains("so the network or its accept queue is slow"));
}

TEST(MirrorCondition, BlamesTheNetworkOnlyIfItExplainsHalfOfTheDifference) {
  auto signs = taking(28ms);  // 20 ms more than its peers
  signs.recent.connect_time = 9ms;
  EXPECT_TRUE(diagnose(signs, ready).reason.contains("so the server itself is slow"));
  signs.recent.connect_time = 11ms;
  EXPECT_TRUE(diagnose(signs, ready).reason.contains("so the network or its accept queue is slow"));
}

TEST(MirrorCondition, UsesPingsForTheCauseIfAllConnectionsWereKept) {
  auto signs = taking(28ms);
  signs.recent.connects = 0;
  EXPECT_FALSE(diagnose(signs, ready).reason.contains(", so "));
  signs.ping = 200us;
  EXPECT_TRUE(
      diagnose(signs, ready).reason.contains("; a ping takes 0.2 ms, so the server itself is slow"))
      << diagnose(signs, ready).reason;
  signs.ping = 20ms;
  EXPECT_FALSE(diagnose(signs, ready).reason.contains(", so ")) << "the ping may be slow as well";
}

TEST(MirrorCondition, IsSlowFromThreeTimesThePeersAndUntilTwoTimes) {
  EXPECT_EQ(diagnose(taking(23ms), ready).condition, ready);
  EXPECT_EQ(diagnose(taking(25ms), ready).condition, slow);
  EXPECT_EQ(diagnose(taking(17ms), slow).condition, slow);
  EXPECT_EQ(diagnose(taking(16ms), slow).condition, ready);
}

TEST(MirrorCondition, IsNotSlowByAFewMillisecondsOrAFewQueries) {
  auto signs = taking(4ms);
  signs.peers_mean = 200us;
  EXPECT_EQ(diagnose(signs, ready).condition, ready);
  signs = taking(412ms);
  signs.recent.queries = 4;
  EXPECT_EQ(diagnose(signs, ready).condition, ready);
  signs.peers_mean.reset();
  signs.recent.queries = 100;
  EXPECT_EQ(diagnose(signs, ready).condition, ready);
}

TEST(MirrorCondition, IsFailingWhenAFifthOfItsAttemptsFail) {
  auto signs = well();
  signs.last_error = "status 500";
  signs.latest = {.attempts = 100, .failures = 19};
  EXPECT_EQ(diagnose(signs, ready).condition, ready);
  signs.latest.failures = 20;
  EXPECT_EQ(diagnose(signs, ready).condition, failing);
  EXPECT_TRUE(diagnose(signs, ready)
                  .reason.starts_with("status 500; 20 of the last 100 attempts failed; gets 33 %"))
      << diagnose(signs, ready).reason;
}

TEST(MirrorCondition, IsFailingAfterASecondWithoutReplyWhileItsPeersAreQuick) {
  auto signs = well();
  signs.in_flight = 12;
  signs.last_second = {.attempts = 12};
  EXPECT_EQ(diagnose(signs, ready).condition, failing);
  EXPECT_TRUE(
      diagnose(signs, ready).reason.starts_with("no reply for a second, 12 attempts are in flight"))
      << diagnose(signs, ready).reason;
  signs.last_second.queries = 1;
  EXPECT_EQ(diagnose(signs, ready).condition, ready);
  signs.last_second.queries = 0;
  signs.peers_mean = 300ms;
  EXPECT_NE(diagnose(signs, ready).condition, failing) << "all mirrors need long";
  signs.peers_mean = 3ms;
  signs.in_flight = 2;
  EXPECT_EQ(diagnose(signs, ready).condition, ready) << "two attempts say too little";
}

TEST(MirrorCondition, IsFailingAfterOnePingWithoutReply) {
  auto signs = well();
  signs.unreachable = true;
  EXPECT_EQ(diagnose(signs, ready).condition, failing);
}

TEST(ConditionTrack, TakesAWorseConditionAtOnceAndABetterOneAfterASecond) {
  ConditionTrack track;
  const TimePoint t0{1h};
  EXPECT_TRUE(track.observe({ready, ""}, t0));
  EXPECT_FALSE(track.observe({ready, ""}, t0 + 500ms));
  EXPECT_TRUE(track.observe({dead, "refused"}, t0 + 1s));
  EXPECT_EQ(track.before(), ready);
  EXPECT_EQ(track.since(), t0 + 1s);
  EXPECT_FALSE(track.observe({ready, ""}, t0 + 2s));
  EXPECT_FALSE(track.observe({dead, "refused"}, t0 + 2500ms)) << "was better for half a second";
  EXPECT_FALSE(track.observe({ready, ""}, t0 + 3s));
  EXPECT_FALSE(track.observe({ready, ""}, t0 + 3900ms));
  EXPECT_EQ(track.current().condition, dead);
  EXPECT_TRUE(track.observe({ready, ""}, t0 + 4s));
  EXPECT_EQ(track.current().condition, ready);
  EXPECT_EQ(track.since(), t0 + 4s);
}

TEST(WorkWindow, HasTheLastSecondOnceItIsOver) {
  WorkWindow window;
  window.add({.attempts = 100});
  window.add({.attempts = 110});
  EXPECT_EQ(window.last_second().attempts, 0U);
  window.add({.attempts = 125});
  EXPECT_EQ(window.last_second().attempts, 25U);
  window.add({.attempts = 131});
  EXPECT_EQ(window.last_second().attempts, 21U);
}

TEST(WorkWindow, KeepsTheLastAnswersHoweverLongAgo) {
  WorkWindow window;
  window.add({.queries = 100, .query_time = 1s});
  EXPECT_EQ(window.last_answers().queries, 0U) << "those from before it was watched do not count";
  window.add({.queries = 106, .query_time = 1600ms});
  EXPECT_EQ(window.last_answers().mean(), 100ms);
  for (int i = 0; i < 100; ++i) window.add({.queries = 110, .query_time = 1604ms});
  EXPECT_EQ(window.last_answers().queries, 10U);
  for (int i = 0; i < 100; ++i) window.add({.queries = 114, .query_time = 1608ms});
  EXPECT_EQ(window.last_answers().queries, 10U) << "four answers say too little";
  for (int i = 0; i < 100; ++i) window.add({.queries = 115, .query_time = 1609ms});
  EXPECT_EQ(window.last_answers().queries, 5U);
  EXPECT_EQ(window.last_answers().mean(), 1ms);
}

TEST(WorkWindow, HasTheLastTwoSecondsAndMoreIfTheyAreFewAttempts) {
  WorkWindow window;
  EXPECT_EQ(window.recent().attempts, 0u);
  for (std::uint64_t i = 0; i <= 100; ++i) window.add({.attempts = 10 * i});
  EXPECT_EQ(window.recent().attempts, 40u);
  EXPECT_EQ(window.latest().attempts, 40u);
  WorkWindow idle;
  for (std::uint64_t i = 0; i <= 100; ++i) idle.add({.attempts = i / 2});
  EXPECT_EQ(idle.recent().attempts, 10u) << "10 s";
  EXPECT_EQ(idle.latest().attempts, 2u);
}

}  // namespace
}  // namespace karmad
