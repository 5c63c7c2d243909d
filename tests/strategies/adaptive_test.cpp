#include "strategies/kinds/by_load.hpp"

#include <gtest/gtest.h>

#include <array>
#include <limits>

#include "tests/strategies/builders.hpp"
#include "tests/strategies/scripted_random.hpp"

namespace karmad {
namespace {

using testing::pick_any;
using testing::ScriptedRandom;
using testing::set_of;
using Mirrors = std::vector<MirrorView>;

const Adaptive kAdaptive(3, 2);

std::size_t pick(const Mirrors& mirrors) {
  SeededRandom random(1);
  return pick_any(mirrors, {}, kAdaptive, random);
}

/// The cost of the last mirror, beside all.
float wait_of_last(const Mirrors& mirrors, double drawn01 = 0) {
  return ExpectedWait(mirrors, Candidates::first(mirrors.size()), drawn01)(mirrors.size() - 1);
}

TEST(ExpectedWait, GrowsWithEverySearchInFlight) {
  EXPECT_EQ(wait_of_last({{.latency = 10}}), 1);
  EXPECT_EQ(wait_of_last({{.in_flight = 3, .latency = 10}}), 4);
}

TEST(ExpectedWait, IsDividedByTheWeightBesideTheHeaviest) {
  EXPECT_EQ(wait_of_last({{.in_flight = 3, .weight = 4, .latency = 10}}), 4);
  EXPECT_EQ(wait_of_last({{.weight = 4}, {.in_flight = 3, .weight = 2}}, 0.5), 8);
  EXPECT_EQ(wait_of_last({{.weight = 4}, {.in_flight = 3, .weight = 2}}, 0.4), 7);
  EXPECT_EQ(wait_of_last({{.weight = 4}, {.weight = 2}}, 0.4), 1) << "nothing is before it";
  EXPECT_EQ(wait_of_last({{.weight = 0}}), std::numeric_limits<float>::infinity());
  EXPECT_EQ(wait_of_last({{.weight = 0, .latency = 1}, {.latency = 3000}}), 1)
      << "a mirror that is not to be asked is no measure for the others";
}

TEST(ExpectedWait, IsTheSameForDurationsThatDifferAsChanceHasIt) {
  EXPECT_EQ(wait_of_last({{.latency = 1000}, {.latency = 1500}}), 1);
  EXPECT_FLOAT_EQ(wait_of_last({{.latency = 1000}, {.latency = 3000}}), 64) << "twice, to the 6th";
  EXPECT_LT(wait_of_last({{.latency = 1}, {.in_flight = 1000, .latency = 1e12F}}),
            std::numeric_limits<float>::infinity());
}

TEST(ExpectedWait, CountsHowLongTheOldestSearchIsOverdue) {
  EXPECT_EQ(duration_now({.latency = 5000, .oldest = 20'000}), 5000) << "20 ms are not unusual";
  EXPECT_EQ(duration_now({.latency = 5000, .oldest = 115'000}), 100'000);
}

TEST(ExpectedWait, GrowsWithTheAnswersThatAreOwed) {
  EXPECT_EQ(owed_answers(4, 5000, 5000), 4) << "four in flight, none came for one duration";
  EXPECT_EQ(owed_answers(0, 5000, 5000), 0);
  EXPECT_EQ(duration_now({.latency = 5000, .owed = 2}), 5000);
  EXPECT_EQ(duration_now({.latency = 5000, .owed = 8}), 20'000);
}

TEST(ExpectedWait, AddsThePenaltyOfFailures) {
  EXPECT_EQ(duration_now({.in_flight = 1, .latency = 5000, .penalty = 11'000}), 16'000);
}

TEST(ExpectedWait, IsStretchedByAReportedLoad) {
  EXPECT_FLOAT_EQ(wait_of_last({{.latency = 10, .load = 0.5F}}), 2);
  EXPECT_FLOAT_EQ(wait_of_last({{.latency = 10, .load = 7}}), 20) << "counts as 0.95";
}

TEST(Adaptive, TakesTheMirrorWithTheLowerExpectedWait) {
  EXPECT_EQ(pick({{.latency = 5000}, {.latency = 10'000}}), 0U);
  EXPECT_EQ(pick({{.in_flight = 1, .latency = 5000}, {.latency = 6000}}), 1U);
  EXPECT_EQ(pick({{.in_flight = 9, .latency = 5000}, {.latency = 15'000}}), 0U);
  EXPECT_EQ(pick({{.in_flight = 64, .latency = 5000}, {.latency = 15'000}}), 1U);
  EXPECT_EQ(pick({{.latency = 5000, .oldest = 900'000}, {.in_flight = 9, .latency = 5000}}), 1U)
      << "the first one hangs";
}

TEST(Adaptive, AFastFailingMirrorLosesToABusyOne) {
  EXPECT_EQ(pick({{.latency = 100, .penalty = 50'000}, {.in_flight = 5, .latency = 5000}}), 1U);
}

TEST(Adaptive, DeadMirrorsAreLeftOut) {  // HA-022
  EXPECT_EQ(pick({{.errors_in_a_row = 4, .latency = 1}, {.in_flight = 50, .latency = 5000}}), 1U);
}

TEST(Adaptive, NeverComparesAllOfThreeOrMore) {
  const Adaptive all(3, 64);
  Mirrors mirrors(4);
  for (auto& mirror : mirrors) mirror = {.in_flight = 4, .latency = 5000};
  mirrors[2].in_flight = 3;
  const auto shares = all.shares(mirrors, Candidates::first(4));
  EXPECT_DOUBLE_EQ(shares[2], 0.75) << "of four, three are compared";
  EXPECT_DOUBLE_EQ(shares[0], 0.25 / 3);
}

TEST(Adaptive, SharesAreThoseOfTheDraws) {
  const Mirrors mirrors{{.in_flight = 3, .latency = 9},
                        {.in_flight = 4, .latency = 9},
                        {.in_flight = 5, .latency = 9},
                        {.in_flight = 5, .latency = 9}};
  const auto shares = kAdaptive.shares(mirrors, Candidates::first(4));
  EXPECT_DOUBLE_EQ(shares[0], 3.0 / 6);
  EXPECT_DOUBLE_EQ(shares[1], 2.0 / 6);
  EXPECT_DOUBLE_EQ(shares[2], 0.5 / 6);
  EXPECT_DOUBLE_EQ(shares[3], 0.5 / 6);
  constexpr int kPicks = 60'000;
  SeededRandom random(5);
  std::array<int, 4> picked{};
  for (int i = 0; i < kPicks; ++i) ++picked.at(pick_any(mirrors, {}, kAdaptive, random));
  for (std::size_t i = 0; i < picked.size(); ++i)
    EXPECT_NEAR(picked.at(i), kPicks * shares.at(i), 600) << i;
}

TEST(Adaptive, DrawsNoMirrorThatIsFarBehindTheBest) {
  const Mirrors mirrors{{.latency = 90'000},
                        {.latency = 80'000},
                        {.in_flight = 1, .latency = 5000},
                        {.in_flight = 2, .latency = 5000}};
  const auto shares = kAdaptive.shares(mirrors, Candidates::first(4));
  EXPECT_DOUBLE_EQ(shares[2], 1.0) << "two at random would often be both slow ones";
  const auto slow = kAdaptive.shares(mirrors, set_of({0, 1}));
  EXPECT_DOUBLE_EQ(slow[0] + slow[1], 1.0);
}

// It got none at all, neither in slow start nor with a weight of 1 beside 3, unless the others had
// more in flight than the weights differ.
TEST(Adaptive, AMirrorOfLittleWeightGetsSearchesWhileTheOthersAreHardlyBusy) {
  Mirrors mirrors(4);
  mirrors[3].weight = 0.1;
  const auto all = Candidates::first(4);
  EXPECT_NEAR(kAdaptive.shares(mirrors, all)[3], 0.1 / 4, 1e-9);
  for (auto& mirror : mirrors) mirror.in_flight = 2;
  EXPECT_EQ(kAdaptive.shares(mirrors, all)[3], 0) << "it has enough for its weight";
  mirrors[3].in_flight = 0;
  EXPECT_NEAR(kAdaptive.shares(mirrors, all)[3], 0.1, 1e-9);
  EXPECT_NEAR(kAdaptive.shares(Mirrors{{.weight = 3}, {}}, Candidates::first(2))[1], 1.0 / 6, 1e-9);
}

TEST(Adaptive, ATieIsDecidedByChance) {
  const Mirrors mirrors(2);
  ScriptedRandom low{0.0};
  ScriptedRandom high{0.9};
  EXPECT_EQ(pick_any(mirrors, {}, kAdaptive, low), 0U);
  EXPECT_EQ(pick_any(mirrors, {}, kAdaptive, high), 1U);
}

TEST(Adaptive, AWeightOfZeroIsUsedOnlyIfNoOtherMirrorSuits) {
  const Mirrors mirrors{{.weight = 0, .latency = 1}, {.in_flight = 99, .latency = 9000}};
  SeededRandom random(1);
  EXPECT_EQ(pick_any(mirrors, {}, kAdaptive, random), 1U);
  EXPECT_EQ(pick_any(mirrors, set_of({1}), kAdaptive, random), 0U);
}

TEST(Draw, TakesDifferentMirrorsWithEqualChances) {
  SeededRandom random(3);
  std::array<int, 6> of{};
  constexpr int kDraws = 30'000;
  for (int i = 0; i < kDraws; ++i) {
    const auto drawn = draw(set_of({0, 2, 3, 5}), 3, random);
    ASSERT_EQ(drawn.size(), 3U);
    for (const auto mirror : drawn) ++of[mirror];
  }
  EXPECT_EQ(of[1] + of[4], 0);
  for (const std::size_t mirror : {0U, 2U, 3U, 5U}) EXPECT_NEAR(of[mirror], kDraws * 0.75, 400);
}

}  // namespace
}  // namespace karmad
