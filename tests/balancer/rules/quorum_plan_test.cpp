#include "balancer/rules/quorum_plan.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace karmad {
namespace {

using namespace std::chrono_literals;
using VerdictKind = QuorumVerdict::Kind;
using Do = QuorumPlan::Do;
using Step = QuorumPlan::Step;
using Answers = std::vector<QuorumAnswer>;

/// Each answer is of another mirror, and none has answered before.
std::vector<std::optional<std::uint64_t>> seen_in(const Answers& answers) {
  std::vector<std::optional<std::uint64_t>> seen;
  for (const auto& answer : answers) seen.push_back(answer.generation);
  return seen;
}

constexpr QuorumVerdict kMet{.kind = VerdictKind::met};
constexpr QuorumVerdict kBehind{.kind = VerdictKind::behind};
constexpr QuorumVerdict kTooFew{.kind = VerdictKind::too_few};

TEST(Quorum, IsWhatAMajorityOfUpdatedMirrorsCannotMiss) {  // CO-071
  const std::size_t expected[]{1, 1, 2, 2, 3};
  for (std::size_t mirrors = 1; mirrors <= 5; ++mirrors)
    EXPECT_EQ(read_quorum(mirrors), expected[mirrors - 1]) << mirrors;
  for (std::size_t mirrors = 1; mirrors <= 64; ++mirrors)
    EXPECT_GT(read_quorum(mirrors) + mirrors / 2 + 1, mirrors) << "reads and updates overlap";
}

TEST(Quorum, IsMetWhenEnoughAnswersAreOfTheNewestGeneration) {  // CO-072
  struct QuorumCase {
    std::string_view what;
    Answers answers;
    std::size_t needed;
    QuorumVerdict verdict;
  };
  const QuorumCase cases[]{
      {"all agree", {{7}, {7}}, 2, {VerdictKind::met, 0, 7}},
      {"one is older", {{7}, {6}, {7}}, 2, {VerdictKind::met, 0, 7}},
      {"the newest is alone", {{7}, {8}}, 2, {VerdictKind::behind, 1, 8}},
      {"two agree on what is old", {{7}, {7}, {8}}, 2, {VerdictKind::behind, 2, 8}},
      {"a successful one first", {{7, false}, {7, true}}, 2, {VerdictKind::met, 1, 7}},
      {"the generation before success", {{8, false}, {7, true}}, 2, {VerdictKind::behind, 0, 8}},
      {"no answers", {}, 1, {VerdictKind::too_few}},
      {"one of two", {{7}}, 2, {VerdictKind::too_few}},
      {"one says nothing", {{7}, {std::nullopt}}, 2, {VerdictKind::too_few}},
      {"none says anything", {{std::nullopt}, {std::nullopt}}, 2, {VerdictKind::unknown}},
      {"two say enough", {{7}, {std::nullopt}, {7}}, 2, {VerdictKind::met, 0, 7}},
      {"nothing to compare with", {{std::nullopt}}, 1, {VerdictKind::met, 0, 0}},
      {"generation 0 is one", {{0}, {0}}, 2, {VerdictKind::met, 0, 0}},
  };
  for (const auto& c : cases)
    EXPECT_EQ(judge(c.answers, c.needed, seen_in(c.answers)), c.verdict) << c.what;
}

// The first answers were of generations 8 and 7: no update before the read is newer than 8.
TEST(Quorum, IsMetLaterByTheNewestGenerationOfTheFirstAnswers) {
  const Answers alone{{10}, {9}};
  EXPECT_EQ(judge(alone, 2, seen_in(alone), 8), (QuorumVerdict{VerdictKind::met, 1, 9}));
  EXPECT_EQ(judge(alone, 2, seen_in(alone)), (QuorumVerdict{VerdictKind::behind, 0, 10}));
  const Answers old{{9}, {7}};
  EXPECT_EQ(judge(old, 2, seen_in(old), 8), (QuorumVerdict{VerdictKind::behind, 0, 9}));
  const Answers with_a_third{{9}, {7}, {9}};
  EXPECT_EQ(judge(old, 2, seen_in(with_a_third), 8), (QuorumVerdict{VerdictKind::met, 0, 9}))
      << "the third one answered in a round before";
}

TEST(Quorum, BarriersTakeTheirTimeAsTheScheduleSays) {  // CO-074
  const auto sum = [](bool several_zones) {
    std::pair<unsigned, Micros> all{};
    while (const auto pause = barrier_pause(all.first, several_zones)) {
      ++all.first;
      all.second += *pause;
    }
    return all;
  };
  EXPECT_EQ(sum(false), std::pair(6U, Micros(30ms)));
  EXPECT_EQ(sum(true), std::pair(40U, Micros(970ms)));
  EXPECT_EQ(barrier_pause(5, true), 5ms);
  EXPECT_EQ(barrier_pause(6, true), 10ms);
  EXPECT_EQ(barrier_pause(9, true), 10ms);
  EXPECT_EQ(barrier_pause(10, true), 30ms);
}

TEST(QuorumPlan, AnswersWhenTheQuorumIsMet) {  // CO-072
  EXPECT_EQ(QuorumPlan(2, true).after(kMet), Step{Do::answer});
}

TEST(QuorumPlan, AnswersWhenABarrierWasReached) {  // CO-073
  QuorumPlan plan(2, true);
  EXPECT_EQ(plan.after(kBehind), (Step{.what = Do::barrier, .with_primary = true}));
  EXPECT_EQ(plan.after_barrier(true), Step{Do::answer});
}

TEST(QuorumPlan, AsksUntriedMirrorsBeforeItWaits) {  // CO-072
  QuorumPlan plan(5, false);
  EXPECT_EQ(plan.after(kBehind, true), Step{Do::settle});
  EXPECT_EQ(plan.after(kBehind, true), Step{Do::settle});
  EXPECT_EQ(plan.after(kBehind, false).what, Do::barrier);
  EXPECT_EQ(QuorumPlan(5, false).after(kMet, true), Step{Do::answer});
  EXPECT_EQ(QuorumPlan(5, false).after(kTooFew, true).what, Do::read);
}

TEST(QuorumPlan, TheFirstBarrierOfAFewMirrorsCountsThePrimaryAndNeedsNoSecond) {  // CO-074
  QuorumPlan plan(3, true);
  EXPECT_EQ(plan.after(kBehind), (Step{.what = Do::barrier, .with_primary = true}));
  EXPECT_EQ(plan.after_barrier(false), Step{Do::read});
}

TEST(QuorumPlan, OfManyMirrorsTheSecondBarrierCountsThePrimary) {  // CO-074
  QuorumPlan plan(4, true);
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(plan.after(kBehind), (Step{.what = Do::barrier, .with_primary = false}));
    EXPECT_EQ(plan.after_barrier(false), (Step{.what = Do::barrier, .with_primary = true}));
    EXPECT_EQ(plan.after_barrier(false), Step{Do::read});
  }
}

TEST(QuorumPlan, WithoutAPrimaryThereIsOneBarrier) {  // CO-074
  QuorumPlan plan(5, false);
  EXPECT_EQ(plan.after(kBehind).what, Do::barrier);
  EXPECT_EQ(plan.after_barrier(false), Step{Do::read});
}

TEST(QuorumPlan, WaitsForNoMirrorThatCannotCatchUp) {  // CO-074
  QuorumPlan plan(5, true);
  plan.after(kBehind);
  EXPECT_EQ(plan.after_barrier(false, true), Step{Do::read});
}

TEST(QuorumPlan, ReadsSixTimesAndFails) {  // CO-074
  QuorumPlan plan(2, false);
  unsigned rounds = 1;
  for (;; ++rounds) {
    plan.after(kBehind);
    if (plan.after_barrier(false).what == Do::fail) break;
  }
  EXPECT_EQ(rounds, 6U);
}

TEST(QuorumPlan, AsksThePrimaryWhenTooFewAnswer) {  // CO-075
  QuorumPlan plan(2, true);
  EXPECT_EQ(plan.after(kTooFew), Step{Do::primary});
  EXPECT_EQ(plan.after_primary(true, true), Step{Do::answer});
}

TEST(QuorumPlan, APrimaryThatIsBehindIsAskedSixTimesAndThenTheOthersAgain) {  // CO-075
  QuorumPlan plan(2, true);
  EXPECT_EQ(plan.after(kTooFew), Step{Do::primary});
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(plan.after_primary(true, false), (Step{.what = Do::primary, .pause = 5ms}));
  EXPECT_EQ(plan.after_primary(true, false), (Step{.what = Do::read, .pause = 5ms}));
  EXPECT_EQ(plan.after(kTooFew).what, Do::read) << "its tries are used up";
}

TEST(QuorumPlan, WithoutAPrimaryItAsksTheOthersAgainAndFails) {  // CO-075
  QuorumPlan plan(3, false);
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(plan.after(kTooFew), (Step{.what = Do::read, .pause = 5ms}));
  EXPECT_EQ(plan.after(kTooFew), Step{Do::fail});
}

TEST(QuorumPlan, FailsAtOnceWhenNoMirrorReportsItsGeneration) {
  EXPECT_EQ(QuorumPlan(2, true).after({.kind = VerdictKind::unknown}), Step{Do::fail});
}

}  // namespace
}  // namespace karmad
