#include "balancer/watch/mirror_condition.hpp"

#include <gtest/gtest.h>

#include <initializer_list>
#include <utility>
#include <vector>

namespace karmad {
namespace {

using namespace std::chrono_literals;
using enum MirrorCondition;

MirrorSigns well() {
  return {
      .answered = true,
      .work = {.recent = {.attempts = 100, .queries = 100, .connects = 1, .connect_time = 200us},
               .peers_mean = 8ms},
      .share = {.strategy = "adaptive", .part = 1.0 / 3, .mirrors = 3, .attempts = 300}};
}

/// A mirror that is slow beside peers that take 8 ms.
MirrorSigns taking(Micros mean) {
  auto signs = well();
  signs.work.slowness = {.answers = 40, .mean = mean, .peers_mean = 8ms};
  return signs;
}

/// A mirror whose last searches ended like this, true is an answer, half a second apart.
FailureSpell after(std::initializer_list<bool> answered) {
  FailureSpell spell;
  WorkWindow window;
  RecentWork sums;
  std::uint32_t in_a_row = 0;
  for (const bool answer : answered) {
    ++sums.attempts;
    ++(answer ? sums.queries : sums.failures);
    in_a_row = answer ? 0 : in_a_row + 1;
    window.add(sums);
    spell.observe(sums, window.recent(), {.failed_in_a_row = in_a_row});
  }
  return spell;
}

TEST(MirrorCondition, IsReadyWithoutAReasonWhenNothingIsWrong) {
  const auto found = diagnose(well());
  EXPECT_EQ(found.condition, ready);
  EXPECT_EQ(found.reason, "");
}

TEST(MirrorCondition, IsEjectedAsLongAsThatCounts) {
  auto signs = well();
  signs.ejected = "5 failures in a row; not admitted again for 8 s";
  EXPECT_EQ(diagnose(signs).condition, ejected);
  EXPECT_EQ(diagnose(signs).reason, *signs.ejected);
  signs.panic = true;
  EXPECT_EQ(diagnose(signs).condition, failing) << "it is asked";
  EXPECT_TRUE(diagnose(signs).reason.ends_with("too few mirrors are left (panic)"));
}

TEST(MirrorCondition, IsStartingWhileItHasAPartOfItsWeight) {
  auto signs = well();
  signs.started = 0.4;
  EXPECT_EQ(diagnose(signs).condition, starting);
  EXPECT_EQ(diagnose(signs).reason, "slow start, has 40 % of its weight");
}

TEST(MirrorCondition, IsUnknownUntilTheFirstAnswer) {
  EXPECT_EQ(diagnose({}).condition, unknown);
  EXPECT_EQ(diagnose({.errors_in_a_row = 1}).condition, unknown);
  EXPECT_EQ(diagnose({.errors_in_a_row = 2}).condition, failing);
}

TEST(MirrorCondition, IsTheWorstOfItsSigns) {
  auto signs = well();
  const auto expect = [&](MirrorCondition wanted) {
    EXPECT_EQ(diagnose(signs).condition, wanted) << name(wanted);
  };
  signs.full = true;
  expect(full);
  signs.work.slowness = taking(412ms).work.slowness;
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
  EXPECT_EQ(diagnose(signs).reason,
            "its last 40 searches take 412.0 ms on average, those of the other mirrors 8.0 ms; "
            "connecting takes 0.2 ms, so the server itself is slow; gets 33 % of the attempts, an "
            "equal share is 33 %");
  signs.share.part = 0.03;
  EXPECT_TRUE(diagnose(signs).reason.starts_with(
      "avoided by adaptive (3 % of the attempts, an equal share is 33 %): its last 40 searches"))
      << diagnose(signs).reason;
  signs.work.slowness->p95 = 700ms;
  EXPECT_FALSE(diagnose(signs).reason.contains("p95"));
  signs.work.slowness->peers_p95 = 12ms;
  EXPECT_TRUE(diagnose(signs).reason.contains("; p95 700.0 ms, others 12.0 ms; connecting"));
  signs.work.recent.connect_time = 300ms;
  EXPECT_TRUE(diagnose(signs).reason.contains("so the network or its accept queue is slow"));
}

TEST(MirrorCondition, TellsPastSlownessInThePastTenseWithoutACause) {
  auto signs = taking(412ms);
  signs.work.slowness->age = 10s;
  EXPECT_TRUE(diagnose(signs).reason.contains(" take 412.0 ms"));
  signs.work.slowness->age = 14s;
  EXPECT_TRUE(diagnose(signs).reason.starts_with(
      "its last 40 searches took 412.0 ms on average, those of the other mirrors 8.0 ms; the last "
      "one was 14 s ago; gets 33 %"))
      << diagnose(signs).reason;
}

TEST(MirrorCondition, BlamesTheNetworkOnlyIfItExplainsHalfOfTheDifference) {
  auto signs = taking(28ms);  // 20 ms more than its peers
  signs.work.recent.connect_time = 9ms;
  EXPECT_TRUE(diagnose(signs).reason.contains("so the server itself is slow"));
  signs.work.recent.connect_time = 11ms;
  EXPECT_TRUE(diagnose(signs).reason.contains("so the network or its accept queue is slow"));
}

TEST(MirrorCondition, UsesPingsForTheCauseIfAllConnectionsWereKept) {
  auto signs = taking(28ms);
  signs.work.recent.connects = 0;
  EXPECT_FALSE(diagnose(signs).reason.contains(", so "));
  signs.work.ping = 200us;
  EXPECT_TRUE(
      diagnose(signs).reason.contains("; a ping takes 0.2 ms, so the server itself is slow"))
      << diagnose(signs).reason;
  signs.work.ping = 20ms;
  EXPECT_FALSE(diagnose(signs).reason.contains(", so ")) << "the ping may be slow as well";
}

TEST(MirrorCondition, IsFailingWhileItsSearchesFailWhateverItsPingsSay) {
  auto signs = well();
  signs.last_error = "unknown local table(s) 'products'";
  signs.failures = after({true, true, false, false});
  EXPECT_EQ(diagnose(signs).condition, ready) << "two failures may be chance";
  signs.failures = after({true, true, false, false, false});
  EXPECT_EQ(diagnose(signs).condition, failing);
  signs.share.part = 0.02;
  EXPECT_EQ(diagnose(signs).reason,
            "avoided by adaptive (2 % of the attempts, an equal share is 33 %): the last 3 "
            "requests failed: unknown local table(s) 'products'");
  signs.share.attempts = 5;
  EXPECT_EQ(diagnose(signs).reason, "the last 3 requests failed: unknown local table(s) 'products'")
      << "five attempts show no share";
}

TEST(MirrorCondition, IsFailingIfItIsAvoidedForOneFailureThatNoAnswerRefutes) {
  auto signs = well();
  signs.last_error = "disk is full";
  signs.failures = after({true, true, false});
  for (int i = 0; i < 8; ++i)
    signs.failures.observe({.attempts = 3, .failures = 1, .queries = 2}, {},
                           {.failed_in_a_row = 1});
  signs.share.part = 0.02;
  EXPECT_EQ(diagnose(signs).condition, ready) << "not yet for five seconds";
  signs.failures.observe({.attempts = 3, .failures = 1, .queries = 2}, {}, {.failed_in_a_row = 1});
  EXPECT_EQ(diagnose(signs).condition, failing);
  EXPECT_EQ(diagnose(signs).reason,
            "avoided by adaptive (2 % of the attempts, an equal share is 33 %): the last "
            "request failed: disk is full");
  signs.silent = true;
  EXPECT_EQ(diagnose(signs).condition, ready) << "one search that takes long";
  signs.silent = false;
  signs.share.part = 0.2;
  EXPECT_EQ(diagnose(signs).condition, ready) << "it is asked";
  signs.share.part = 0.02;
  signs.failures.observe({.attempts = 4, .failures = 1, .queries = 3}, {}, {});
  EXPECT_EQ(diagnose(signs).condition, ready);
}

TEST(MirrorCondition, SaysHowManyOfItsSearchesFailed) {
  auto signs = well();
  signs.last_error = "status 500";
  signs.failures = after({true, true, true, false, true, false, true});
  signs.work.recent = {.attempts = 5, .failures = 2, .queries = 3};
  EXPECT_EQ(diagnose(signs).condition, failing);
  EXPECT_TRUE(
      diagnose(signs).reason.starts_with("2 of the last 5 requests failed: status 500; gets 33 %"))
      << diagnose(signs).reason;
  signs.work.recent = {.attempts = 5, .queries = 5};
  EXPECT_TRUE(diagnose(signs).reason.starts_with(
      "requests failed, only the last 1 were answered: status 500"))
      << diagnose(signs).reason;
}

TEST(MirrorCondition, IsFailingAfterASecondWithoutReplyWhileItsPeersAreQuick) {
  auto signs = well();
  signs.work.in_flight = 12;
  signs.work.last_second = {.attempts = 12};
  EXPECT_EQ(diagnose(signs).condition, failing);
  EXPECT_TRUE(diagnose(signs).reason.starts_with("no reply for a second, 12 attempts in flight"))
      << diagnose(signs).reason;
  signs.work.last_second.queries = 1;
  EXPECT_EQ(diagnose(signs).condition, ready);
  signs.work.last_second.queries = 0;
  signs.work.peers_mean = 300ms;
  EXPECT_NE(diagnose(signs).condition, failing) << "all mirrors need long";
  signs.work.peers_mean = 3ms;
  signs.work.in_flight = 2;
  EXPECT_EQ(diagnose(signs).condition, ready) << "two attempts say too little";
}

TEST(MirrorCondition, IsFailingAfterOnePingWithoutReply) {
  auto signs = well();
  signs.unreachable = true;
  EXPECT_EQ(diagnose(signs).condition, failing);
}

/// Plays a list of conditions, half a second each; returns the changes.
std::vector<std::pair<MirrorCondition, Micros>> changes(
    const std::vector<std::pair<MirrorCondition, Micros>>& conditions) {
  ConditionTrack track;
  std::vector<std::pair<MirrorCondition, Micros>> told;
  const TimePoint t0{1h};
  auto now = t0;
  for (const auto& [condition, lasts] : conditions)
    for (const auto until = now + lasts; now < until; now += 500ms)
      if (track.observe({condition, "", condition != slow && condition != failing}, now))
        told.emplace_back(track.current().condition, now - t0);
  return told;
}
using Told = std::vector<std::pair<MirrorCondition, Micros>>;

TEST(ConditionTrack, TakesDeathAtOnceAndABetterConditionAfterASecond) {
  EXPECT_EQ(changes({{ready, 1s}, {dead, 1s}, {ready, 500ms}, {dead, 500ms}, {ready, 10s}}),
            (Told{{ready, 0s}, {dead, 1s}, {ready, 4s}}));
}

TEST(ConditionTrack, TakesSlownessAndFailuresThatLastASecond) {
  EXPECT_EQ(changes({{ready, 5s}, {slow, 500ms}, {ready, 5s}, {failing, 500ms}, {ready, 5s}}),
            (Told{{ready, 0s}}));
  EXPECT_EQ(changes({{ready, 5s}, {slow, 10s}}), (Told{{ready, 0s}, {slow, 6s}}));
  EXPECT_EQ(changes({{ready, 5s}, {failing, 500ms}, {dead, 5s}}),
            (Told{{ready, 0s}, {dead, 5500ms}}))
      << "one change, not two";
}

TEST(ConditionTrack, TakesAFewErrorsInARowOfAMirrorThatIsReachedForChance) {
  ConditionTrack track;
  TimePoint now{1h};
  track.observe({ready, ""}, now);
  for (int i = 0; i < 20; ++i) {
    EXPECT_FALSE(track.observe({dead, "4 errors in a row", false}, now += 500ms));
    EXPECT_FALSE(track.observe({ready, ""}, now += 500ms));
  }
  EXPECT_FALSE(track.observe({dead, "4 errors in a row", false}, now += 500ms));
  EXPECT_FALSE(track.observe({dead, "4 errors in a row", false}, now += 500ms));
  EXPECT_TRUE(track.observe({dead, "4 errors in a row", false}, now += 500ms));
}

TEST(ConditionTrack, StaysDeadWhileAnsweredPingsHideItsErrors) {
  std::vector<std::pair<MirrorCondition, Micros>> pinged{{ready, 2s}};
  for (int i = 0; i < 100; ++i) pinged.insert(pinged.end(), {{dead, 1s}, {failing, 2s}});
  pinged.emplace_back(ready, 5s);
  EXPECT_EQ(changes(pinged), (Told{{ready, 0s}, {dead, 2s}, {ready, 303s}}));
  EXPECT_EQ(changes({{dead, 1s}, {failing, 70s}}), (Told{{dead, 0s}, {failing, 61s}}));
}

TEST(ConditionTrack, MustBeWellForAMinuteAfterARelapse) {
  EXPECT_EQ(changes({{ready, 1s}, {failing, 10s}, {ready, 10s}, {failing, 10s}, {ready, 99s}}),
            (Told{{ready, 0s}, {failing, 2s}, {ready, 12s}, {failing, 22s}, {ready, 91s}}));
  std::vector<std::pair<MirrorCondition, Micros>> swings;
  for (int i = 0; i < 60; ++i) swings.insert(swings.end(), {{slow, 5s}, {ready, 5s}});
  EXPECT_LE(changes(swings).size(), 5U) << "in ten minutes";
}

TEST(ConditionTrack, FollowsTheOperatorAtOnce) {
  EXPECT_EQ(changes({{ready, 1s}, {failing, 9s}, {drain, 5s}, {maint, 5s}, {ready, 5s}}),
            (Told{{ready, 0s}, {failing, 2s}, {drain, 10s}, {maint, 15s}, {ready, 20s}}));
  EXPECT_EQ(changes({{slow, 9s}, {maint, 5s}, {slow, 5s}, {drain, 5s}, {failing, 5s}}),
            (Told{{slow, 1s}, {maint, 9s}, {slow, 14s}, {drain, 19s}, {failing, 24s}}))
      << "also if the mirror is still in trouble";
}

TEST(FailureSpell, EndsAfterThreeAnswersOfAMirrorThatFailedEverySearch) {
  EXPECT_TRUE(after({false, false, false, true, true}).goes_on());
  EXPECT_FALSE(after({false, false, false, true, true, true}).goes_on());
}

TEST(FailureSpell, LastsLongerIfOnlySomeSearchesFailed) {
  const auto half = [](int answers) {
    FailureSpell spell;
    WorkWindow window;
    RecentWork sums;
    const auto sample = [&](std::uint64_t answered, std::uint64_t failed) {
      sums.attempts += answered + failed;
      sums.queries += answered;
      sums.failures += failed;
      window.add(sums);
      spell.observe(sums, window.recent(), {.failed_in_a_row = failed > 0 ? 1U : 0});
    };
    for (int i = 0; i < 20; ++i) sample(10, 10);
    EXPECT_TRUE(spell.goes_on());
    for (int i = 0; i < answers; ++i) sample(1, 0);
    return spell.goes_on();
  };
  EXPECT_TRUE(half(12)) << "once in 4096 times a mirror that fails half of its searches does that";
  EXPECT_FALSE(half(14)) << "once in 16 384 times";
}

TEST(FailureSpell, EndsWithAnswersThatCameRightAfterTheLastFailure) {
  auto spell = after({false, false, false});
  const RecentWork sums{.attempts = 6, .failures = 4, .queries = 2};
  spell.observe(sums, sums, {.answered_in_a_row = 2});
  EXPECT_TRUE(spell.goes_on());
  spell.observe({.attempts = 7, .failures = 4, .queries = 3}, sums, {.answered_in_a_row = 3});
  EXPECT_FALSE(spell.goes_on());
}

TEST(FailureSpell, EndsWhenAMirrorThatWasNotReachedAnswersAPing) {
  auto spell = after({false, false, false});
  ASSERT_TRUE(spell.goes_on());
  spell.observe({.attempts = 3, .failures = 3}, {}, {.failed_in_a_row = 3, .reached = true});
  EXPECT_FALSE(spell.goes_on());
  EXPECT_EQ(spell.in_a_row(), 0U);
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
