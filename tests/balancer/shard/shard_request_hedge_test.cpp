#include "tests/balancer/shard/shard_story.hpp"

namespace karmad::testing {
namespace {

/// A search that asks another mirror while the first is late: after 100 ms, then every 50 ms.
struct AHedgedRequest : ShardStory {
  AHedgedRequest() {
    rules.hedging = {.setting = {.kind = HedgeSetting::Kind::after, .after = 100ms}, .step = 50ms};
    rules.hedge_max = 2;
  }
};

// CO-080
TEST_F(AHedgedRequest, AsksNoOtherMirrorWhenTheFirstIsFast) {
  EXPECT_EQ(start(), "ask a; wait until 100ms");
  EXPECT_EQ(answers(), "finish: answered");
  EXPECT_EQ(counted(Count::hedges), 0U);
}

// CO-080, CO-082
TEST_F(AHedgedRequest, TakesTheAnswerOfTheHedgeAndEndsTheFirst) {
  start();
  at(100ms);
  EXPECT_EQ(time_passes(), "ask b in 1 (hedge); wait until 150ms");
  at(120ms);
  EXPECT_EQ(answers(1), "cancel 0 (lost race)");
  EXPECT_EQ(ends(Outcome::cancelled), "finish: answered");
  EXPECT_EQ(request->result().slot, 1U);
  EXPECT_EQ(request->result().mirror, 1U);
  EXPECT_EQ(counted(Count::hedges), 1U);
  EXPECT_EQ(counted(Count::hedges_won), 1U);
}

TEST_F(AHedgedRequest, EndsTheHedgeWhenTheFirstAnswers) {
  start();
  at(100ms);
  time_passes();
  EXPECT_EQ(answers(0), "cancel 1");
  EXPECT_EQ(ends(Outcome::cancelled, 1), "finish: answered");
  EXPECT_EQ(request->result().slot, 0U);
  EXPECT_EQ(counted(Count::hedges_won), 0U);
}

TEST_F(AHedgedRequest, AsksAsManyMirrorsAsItMay) {
  start();
  at(100ms);
  time_passes();
  at(150ms);
  EXPECT_EQ(time_passes(), "ask c in 2 (hedge)");
  EXPECT_EQ(answers(2), "cancel 0 (lost race); cancel 1 (lost race)");
  EXPECT_EQ(ends(Outcome::cancelled, 0), "");
  EXPECT_EQ(ends(Outcome::cancelled, 1), "finish: answered");
}

// CO-081: an answer that is not final has the next mirror asked at once.
TEST_F(AHedgedRequest, AsksTheNextMirrorAtOnceAfterAnAnswerThatIsNotFinal) {
  retry.retry_reads = false;
  start();
  EXPECT_EQ(ends(report(Outcome::agent_error, 503)), "ask b in 1 (hedge); wait until 50ms");
  EXPECT_EQ(ends(report(Outcome::agent_error, 503), 1), "ask c in 2 (hedge)");
  EXPECT_EQ(answers(2), "finish: answered");
  EXPECT_EQ(request->result().mirror, 2U);
  EXPECT_EQ(counted(Count::hedges), 2U);
}

// CO-083: the first has its retries, a hedge has none.
TEST_F(AHedgedRequest, RetriesTheFirstWhileTheHedgeRuns) {
  start();
  at(100ms);
  time_passes();
  EXPECT_EQ(ends(report(Outcome::agent_error, 500), 1), "ask c in 2 (hedge)");
  EXPECT_EQ(ends(hint(Kind::overload)), "wait until 150ms");
  at(110ms);
  EXPECT_EQ(answers(2), "finish: answered");  // the pause of the first ends with that
  EXPECT_EQ(request->failed().size(), 2U);
  EXPECT_EQ(request->failed()[0].mirror, 0U) << "the first, then the hedges";
}

TEST_F(AHedgedRequest, RetriesTheFirstAtAMirrorWithoutAHedge) {
  mirrors_are(4);
  start();
  at(100ms);
  time_passes();
  EXPECT_EQ(ends(report(Outcome::agent_error, 500)), "ask c (retry); wait until 150ms");
  EXPECT_EQ(ends(Outcome::broken, 1), "ask d in 2 (hedge)");
  EXPECT_EQ(ends(Outcome::broken), "");  // the second hedge may still answer
  EXPECT_EQ(answers(2), "finish: answered");
}

TEST_F(AHedgedRequest, HasNoRetryAtTheMirrorOfItsHedge) {
  mirrors_are(2);
  start();
  at(100ms);
  time_passes();
  EXPECT_EQ(ends(Outcome::broken), "");
  EXPECT_EQ(ends(Outcome::broken, 1), "finish: connection broken");
  EXPECT_EQ(request->failed().size(), 2U);
  auto told = hint(Kind::throttled, 429);
  told.hint.delay = 700ms;
  at(1s);
  start();
  at(1100ms);
  time_passes();
  EXPECT_EQ(ends(told, 1), "");
  EXPECT_EQ(ends(told), "wait until 1800ms") << "the other one wants a pause, too";
}

TEST_F(AHedgedRequest, AsksTheBudgetAgainAfterAStepWhenItRefuses) {
  start();
  while (protection->budget.take(RetryBudget::For::other)) {
  }
  at(100ms);
  EXPECT_EQ(time_passes(), "wait until 150ms");
  at(150ms);
  EXPECT_EQ(time_passes(), "wait until 200ms");
  EXPECT_EQ(answers(), "finish: answered");
}

TEST_F(AHedgedRequest, CountsHedgesInMaxAttempts) {
  retry.max_attempts = 1;
  start();
  at(100ms);
  EXPECT_EQ(time_passes(), "");
}

TEST_F(AHedgedRequest, IsNotHedgedWhereThereIsOneMirrorOnly) {
  mirrors_are(1);
  EXPECT_EQ(start(), "ask a");
}

// A hedge goes, as a retry does, to a later level of the preference.
TEST_F(AHedgedRequest, IsHedgedOntoThePrimaryWhereThePreferenceLeavesOneReplica) {
  roles_are(2);
  need.preference.mode = Mode::secondary_preferred;
  EXPECT_EQ(start(), "ask b; wait until 100ms");
  at(100ms);
  EXPECT_EQ(time_passes(), "ask a in 1 (hedge)");
  EXPECT_EQ(answers(1), "cancel 0 (lost race)");
  at(0ms);
  need.preference.mode = Mode::secondary;
  EXPECT_EQ(start(), "ask b");
}

TEST_F(AHedgedRequest, GoesToTheReplicasBeforeThePrimary) {
  roles_are(3);
  need.preference.mode = Mode::secondary_preferred;
  EXPECT_EQ(start(), "ask b; wait until 100ms");
  at(100ms);
  EXPECT_EQ(time_passes(), "ask c in 1 (hedge); wait until 150ms");
  at(150ms);
  EXPECT_EQ(time_passes(), "ask a in 2 (hedge)");
}

TEST_F(AHedgedRequest, GoesToMirrorsOfALaterTagSet) {
  roles_are(3);
  mirrors->known.picture.mirrors[2].tags = {{"dc", "a"}};
  need.preference.tag_sets = {{{"dc", "a"}}, {}};
  EXPECT_EQ(start(), "ask c; wait until 100ms");
  at(100ms);
  EXPECT_EQ(time_passes(), "ask a in 1 (hedge); wait until 150ms");
  need.preference.tag_sets.pop_back();
  EXPECT_EQ(start(), "ask c");
}

// CO-084
TEST_F(AHedgedRequest, IsNotHedgedWhenItIsAnUpdate) {
  need.operation = Operation::write;
  EXPECT_EQ(start(), "ask a");
}

TEST_F(AHedgedRequest, IsNotHedgedWhileTheSetIsBusy) {
  mirrors->loaded = true;
  EXPECT_EQ(start(), "ask a; wait until 100ms");
  at(100ms);
  EXPECT_EQ(time_passes(), "wait until 150ms");
  mirrors->loaded = false;  // a search that began under load is hedged once that is over
  at(150ms);
  EXPECT_EQ(time_passes(), "ask b in 1 (hedge); wait until 200ms");
}

// Searches that begin while others have taken the whole budget may be at the mirror that is stuck.
TEST_F(AHedgedRequest, IsHedgedOnceTheBudgetThatWasSpentAtItsBeginIsThereAgain) {
  std::vector<RetryBudget::RetryPermit> spent;
  while (auto permit = protection->budget.take(RetryBudget::For::other))
    spent.push_back(*std::move(permit));
  EXPECT_EQ(start(), "ask a; wait until 100ms");
  at(100ms);
  EXPECT_EQ(time_passes(), "wait until 150ms");
  spent.clear();
  at(150ms);
  EXPECT_NE(time_passes().find("ask b in 1 (hedge)"), std::string::npos);
}

TEST_F(AHedgedRequest, IsHedgedOnceAMirrorIsFree) {
  mirrors->without_slot = these({1, 2});
  mirrors->has_limits = true;
  EXPECT_EQ(start(), "ask a; wait until 100ms");
  at(100ms);
  EXPECT_EQ(time_passes(), "wait until 150ms");
  mirrors->without_slot = {};
  at(150ms);
  EXPECT_NE(time_passes().find("ask b in 1 (hedge)"), std::string::npos);
}

TEST_F(AHedgedRequest, IsHedgedAfterTheMeasuredQuantile) {
  rules.hedging = {.setting = {.kind = HedgeSetting::Kind::p95}};
  EXPECT_EQ(start(), "ask a");  // too few samples
  mirrors->measured = {.samples = 100, .p95 = 20ms, .p99 = 30ms};
  EXPECT_EQ(start(), "ask a; wait until 20ms");
}

TEST_F(AHedgedRequest, DoesNotHedgeOntoAMirrorThatIsAvoided) {
  protection->unavailable.mark(1, t0, 1min);
  start();
  at(100ms);
  EXPECT_EQ(time_passes(), "ask c in 1 (hedge); wait until 150ms");
}

TEST_F(AHedgedRequest, EndsAllWhenTheQueryIsOver) {
  start();
  at(100ms);
  time_passes();
  EXPECT_EQ(is_cancelled(), "cancel 0; cancel 1");
  EXPECT_EQ(ends(Outcome::cancelled, 0), "");
  EXPECT_EQ(ends(Outcome::cancelled, 1), "finish: cancelled");
}

TEST_F(AHedgedRequest, WaitsForAMirrorWhileNoneSuitsAndThenHedges) {
  rules.any_mirror = false;
  for (auto& mirror : mirrors->known.picture.mirrors) mirror.role = Role::unknown;
  EXPECT_EQ(start(), "check; wait until 500ms for news");  // there is no other mirror to hedge onto
  for (auto& mirror : mirrors->known.picture.mirrors) mirror.role = Role::router;
  EXPECT_EQ(news(), "ask a");
}

}  // namespace
}  // namespace karmad::testing
