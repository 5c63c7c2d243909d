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
  EXPECT_EQ(time_passes(), "ask b in 1 (quorum); ask c in 2 (quorum)");
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

TEST_F(AQuorumRead, PaysForFurtherReadsLikeRetries) {
  while (protection->budget.take(RetryBudget::For::other)) {
  }
  start();
  EXPECT_EQ(ends(Outcome::broken, 1), "");
  EXPECT_EQ(counted(Count::retries_refused), 1U);
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
