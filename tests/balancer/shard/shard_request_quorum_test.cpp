#include "tests/balancer/shard/shard_story.hpp"

namespace karmad::testing {
namespace {

/// A search that several mirrors have to agree on: two of three.
struct AQuorumRead : ShardStory {
  AQuorumRead() {
    rules.any_mirror = false;
    rules.quorum = true;
  }
  /// The final error if all further rounds have the same result.
  std::string last_of_rounds(std::string said) {
    for (int i = 1; !said.starts_with("finish") && i < 20; ++i) {
      at(5ms * i);
      said = time_passes();
    }
    return said;
  }
  void uses_up_the_budget() {
    while (protection->budget.take(RetryBudget::For::other)) continue;
  }
  void pings_tell(std::size_t mirror, std::uint64_t generation) {
    mirrors->known.mirrors[mirror].description.generation = generation;
  }
};

// CO-070, CO-071
TEST_F(AQuorumRead, AsksAsManyMirrorsAsHaveToAgree) {
  EXPECT_EQ(start(), "ask a in 1; ask b in 2 (quorum)");
  EXPECT_EQ(ends(at_generation(5), 1), "");
  EXPECT_EQ(ends(at_generation(5), 2), "finish: answered");
  EXPECT_EQ(request->result().slot, 1U);
  EXPECT_EQ(counted(Count::quorum_reads), 1U);
}

TEST_F(AQuorumRead, AsksAThirdMirrorWhenTwoDisagreeAndPingsReportNoGeneration) {
  start();
  ends(at_generation(5), 1);
  EXPECT_EQ(ends(at_generation(6), 2), "ask c in 3 (quorum)");
  EXPECT_EQ(counted(Count::quorum_settling_reads), 1U);
  EXPECT_EQ(ends(at_generation(6), 3), "finish: answered");
  EXPECT_EQ(request->result().slot, 2U);
}

// AgentSlots (`max_in_flight`)
TEST_F(AQuorumRead, WaitsForASlotForOneMirrorAfterTheOther) {
  mirrors_are(5);
  mirrors->without_slot = these({1, 2, 3, 4});
  EXPECT_EQ(start(), "ask a in 1; wait until 10000ms for a slot at bcde");
  EXPECT_EQ(take(event::SlotFreed{1}), "ask b in 2 (quorum); wait until 10000ms for a slot at cde");
  EXPECT_EQ(ends(at_generation(5), 1), "wait until 10000ms for a slot at cde");
  EXPECT_EQ(ends(at_generation(5), 2), "wait until 10000ms for a slot at cde");
  EXPECT_EQ(take(event::SlotFreed{3}), "ask d in 3 (quorum)");
  EXPECT_EQ(ends(at_generation(5), 3), "finish: answered");
}

TEST_F(AQuorumRead, IsRefusedWhereTooManyWaitForASlot) {
  mirrors->without_slot = these({1, 2});
  mirrors->most_waiting = 0;
  EXPECT_EQ(start(), "ask a in 1");
  EXPECT_EQ(ends(at_generation(5), 1), "finish: overloaded");
}

// CO-077: the older one is left alone for a moment by others.
TEST_F(AQuorumRead, MarksAMirrorThatWasOlder) {
  start();
  ends(at_generation(5), 1);
  ends(at_generation(6), 2);
  EXPECT_EQ(start(), "ask b in 1; ask c in 2 (quorum)");
}

// CO-073, CO-074
TEST_F(AQuorumRead, WaitsUntilPingsSayThatEnoughHaveCaughtUp) {
  for (std::size_t i = 0; i < 3; ++i) pings_tell(i, 5);
  start();
  ends(at_generation(5), 1);
  EXPECT_EQ(ends(at_generation(6), 2), "check generations; wait until 5ms for news");
  at(3ms);
  EXPECT_EQ(news(), "wait until 5ms for news");
  pings_tell(2, 6);
  EXPECT_EQ(news(), "finish: answered");
  EXPECT_EQ(request->result().mirror, 1U);
  EXPECT_EQ(counted(Count::quorum_barriers), 1U);
}

TEST_F(AQuorumRead, ReadsAgainWhenTheyDoNotCatchUp) {
  for (std::size_t i = 0; i < 3; ++i) pings_tell(i, 5);
  start();
  ends(at_generation(5), 1);
  ends(at_generation(6), 2);
  for (int step = 1; step < 6; ++step) {
    at(5ms * step);
    EXPECT_EQ(time_passes(),
              fmt::format("check generations; wait until {}ms for news", 5 * (step + 1)));
  }
  at(30ms);
  EXPECT_EQ(time_passes(), "ask c in 1 (quorum)") << "b has answered with the newest data";
  EXPECT_EQ(ends(at_generation(6), 1), "finish: answered");
}

// One that stays behind is asked once in each round, the one with the newest data once in all.
TEST_F(AQuorumRead, AsksOnlyTheMirrorThatIsBehindAgain) {
  roles_are(3);
  rules.quorum = true;
  need.preference.mode = Mode::secondary;
  EXPECT_EQ(start(), "ask b in 1; ask c in 2 (quorum)");
  ends(at_generation(9), 1);
  auto said = ends(at_generation(4), 2);
  std::size_t asked = 0;
  for (int i = 1; !said.starts_with("finish") && i < 100; ++i) {
    if (said.find("ask") != said.npos) {
      EXPECT_EQ(said, "ask c in 2 (quorum)");
      ++asked;
      said = ends(at_generation(4), 2);
      continue;
    }
    at(5ms * i);
    said = time_passes();
  }
  EXPECT_EQ(said, "finish: quorum_not_met");
  EXPECT_EQ(asked, 5U);
}

// CO-074: with several zones a barrier may take 970 ms.
TEST_F(AQuorumRead, EndsItsBarrierBeforeTheDeadline) {
  retry.max_attempts = 1;
  for (std::size_t i = 0; i < 3; ++i) {
    pings_tell(i, 5);
    mirrors->known.picture.mirrors[i].tags = {{"zone", std::string(1, static_cast<char>('a' + i))}};
  }
  rules.deadline = t0 + 100ms;
  start();
  ends(at_generation(5), 1);
  auto said = ends(at_generation(6), 2);
  auto until = 5ms;
  for (const auto step : {5ms, 5ms, 5ms, 5ms, 5ms, 10ms, 10ms, 10ms, 10ms}) {
    EXPECT_EQ(said, fmt::format("check generations; wait until {}ms for news", until / 1ms));
    at(until);
    said = time_passes();
    until += step;
  }
  EXPECT_EQ(said, "check generations; wait until 70ms for news");
  at(70ms);
  EXPECT_EQ(time_passes(), "finish: quorum_not_met") << "the next step would be at 100 ms";
}

TEST_F(AQuorumRead, BeginsNoReadAfterTheDeadline) {
  auto late = report(Outcome::cancelled);
  late.out_of_time = true;
  for (const bool one_answers : {false, true}) {
    rules.deadline = now + 300ms;
    start();
    EXPECT_EQ(one_answers ? ends(at_generation(5), 1) : "", "");
    now += 300ms;
    EXPECT_EQ(one_answers ? "" : ends(late, 1), "");
    EXPECT_EQ(ends(late, 2), one_answers ? "finish: quorum_not_met" : "finish: cancelled");
    EXPECT_EQ(request->result().timed_out, true);
  }
}

// Replicas are always a little late: the next answer is newer each time, and no two agree.
TEST_F(AQuorumRead, IsMetByARoundThatHasReachedTheFirstAnswers) {
  start();
  ends(at_generation(5), 1);
  ends(at_generation(6), 2);
  ends(at_generation(5), 3);
  for (int step = 1; step < 6; ++step) {
    at(5ms * step);
    time_passes();
  }
  at(30ms);
  EXPECT_EQ(time_passes(), "ask a in 1 (quorum)");
  EXPECT_EQ(ends(at_generation(8), 1), "finish: answered");
  EXPECT_EQ(request->result().slot, 2U) << "two mirrors have reached 6, which was the newest";
}

TEST_F(AQuorumRead, IsRefusedWhereMirrorsDoNotSayTheirGeneration) {
  start();
  ends(Outcome::answered, 1);
  EXPECT_EQ(ends(Outcome::answered, 2), "finish: no_generation");
  EXPECT_NE(request->result().refused->reason.find("a: reports no generation"), std::string::npos);
}

TEST_F(AQuorumRead, AsksAnotherMirrorForOneThatFails) {
  start();
  EXPECT_EQ(ends(Outcome::broken, 1), "ask c in 3 (quorum)");
  EXPECT_EQ(counted(Count::retries), 1U);
  ends(at_generation(5), 2);
  EXPECT_EQ(ends(at_generation(5), 3), "finish: answered");
  ASSERT_EQ(request->failed().size(), 1U);
  EXPECT_EQ(request->failed()[0].mirror, 0U);
}

// The read that replaces a failed one is an immediate retry: docs/decisions/012, 048.
TEST_F(AQuorumRead, PaysNothingForAFurtherReadAtAMirrorThatWorks) {
  uses_up_the_budget();
  start();
  EXPECT_EQ(ends(Outcome::broken, 1), "ask c in 3 (quorum)");
  ends(at_generation(5), 2);
  EXPECT_EQ(ends(at_generation(5), 3), "finish: answered");
  EXPECT_EQ(counted(Count::retries_refused), 0U);
}

TEST_F(AQuorumRead, PaysForAFurtherReadAtAMirrorThatFails) {
  protection->standings.ended(2, Outcome::agent_error);
  uses_up_the_budget();
  start();
  EXPECT_EQ(ends(Outcome::broken, 1), "");
  EXPECT_EQ(counted(Count::retries_refused), 1U);
}

// One that fails is read again in the next round only if the budget pays for it.
TEST_F(AQuorumRead, PaysForAFurtherRoundOfMirrorsThatFail) {
  protection->standings.ended(2, Outcome::agent_error);
  uses_up_the_budget();
  start();
  ends(Outcome::broken, 1);
  EXPECT_EQ(last_of_rounds(ends(Outcome::broken, 2)), "finish: quorum_not_met");
  EXPECT_EQ(counted(Count::quorum_reads), 1U);
}

TEST_F(AQuorumRead, WaitsForWhatAnotherRequestLearnsOfAnUnknownMirror) {
  mirrors_are(4);
  rules.any_mirror = false;
  protection = std::make_unique<Protection>(4, ProtectionRules{.budget = {.saved = 0}});
  std::optional<SetHealth::InFlightGuard> other(std::in_place, protection->standings, 3);
  EXPECT_EQ(start(), "ask a in 1; ask b in 2 (quorum)");
  protection->standings.ended(2, Outcome::agent_error);
  EXPECT_EQ(ends(Outcome::broken, 1), "wait until 500ms for news");
  EXPECT_EQ(ends(Outcome::broken, 2), "tell others; wait until 500ms for news")
      << "one after the other";
  protection->standings.ended(3, Outcome::answered);
  other.reset();
  EXPECT_EQ(news(), "ask d in 3 (quorum)");
}

TEST_F(AQuorumRead, AnswersWithAMistakeOfTheClient) {
  start();
  ends(report(Outcome::client_mistake, 400), 1);
  EXPECT_EQ(ends(report(Outcome::client_mistake, 400), 2), "finish: client's mistake");
}

TEST_F(AQuorumRead, IsOverloadedWhenAllMirrorsSayThat) {
  start();
  ends(hint(Kind::overload), 1);
  EXPECT_EQ(ends(hint(Kind::overload), 2), "");
  EXPECT_EQ(last_of_rounds(ends(hint(Kind::overload), 3)), "finish: agent error");
  EXPECT_TRUE(request->result().hint.overload);
}

TEST_F(AQuorumRead, IsNotMetWhereTooFewAnswerAndReadsAreNotRepeated) {
  retry.retry_reads = false;
  start();
  ends(at_generation(5), 1);
  EXPECT_EQ(last_of_rounds(ends(Outcome::broken, 2)), "finish: quorum_not_met");
  EXPECT_EQ(counted(Count::quorum_failed), 1U);
}

// CO-075
TEST_F(AQuorumRead, TakesTheAnswerOfThePrimaryWhenItIsNotOlderThanOthers) {
  roles_are(3);
  rules.quorum = true;
  start();
  ends(at_generation(5), 1);
  EXPECT_EQ(ends(Outcome::broken, 2), "ask c in 3 (quorum)");
  EXPECT_EQ(ends(Outcome::broken, 3), "ask a in 1 (quorum)");
  EXPECT_EQ(ends(at_generation(5), 1), "finish: answered");
}

TEST_F(AQuorumRead, WaitsForTheFirstMirrorThatSuits) {
  for (auto& mirror : mirrors->known.picture.mirrors) mirror.role = Role::unknown;
  EXPECT_EQ(start(), "check; wait until 500ms for news");
  for (auto& mirror : mirrors->known.picture.mirrors) mirror.role = Role::router;
  EXPECT_EQ(news(), "ask a in 1; ask b in 2 (quorum)");
}

TEST_F(AQuorumRead, EndsWithTheQuery) {
  start();
  EXPECT_EQ(is_cancelled(), "cancel 1; cancel 2");
  ends(Outcome::cancelled, 1);
  EXPECT_EQ(ends(Outcome::cancelled, 2), "finish: cancelled");
}

TEST_F(AQuorumRead, GoesOnWithOtherMirrorsWhenTheMergeRejectsTheReply) {
  start();
  ends(at_generation(5), 1);
  ends(at_generation(5), 2);
  EXPECT_EQ(take(event::Rejected{"not JSON"}), "ask c in 1 (retry); ask a in 2 (quorum)");
}

}  // namespace
}  // namespace karmad::testing
