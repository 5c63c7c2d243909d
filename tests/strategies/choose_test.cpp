#include "strategies/choose.hpp"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <numeric>

#include "tests/strategies/builders.hpp"
#include "tests/strategies/scripted_random.hpp"

namespace karmad {
namespace {

using testing::ScriptedRandom;
using testing::set_of;
using testing::with_karma;

std::size_t weighted(const std::vector<MirrorView>& mirrors, Candidates from, double drawn) {
  ScriptedRandom random{drawn};
  const auto chosen = weighted_by_karma(mirrors, from, random);
  EXPECT_TRUE(random.used_up());
  return chosen;
}

double sum_of(const Shares& shares) {
  return std::accumulate(shares.begin(), shares.end(), 0.0);
}

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr double kAlmostOne = 1 - 0x1.0p-53;

TEST(Uniform, DividesTheRangeEvenlyAmongTheCandidates) {
  for (const auto& [drawn, expected] :
       {std::pair{0.0, 1U}, {0.33, 1U}, {0.34, 4U}, {0.66, 4U}, {0.67, 9U}, {kAlmostOne, 9U}}) {
    ScriptedRandom random{drawn};
    EXPECT_EQ(uniform(set_of({1, 4, 9}), random), expected) << drawn;
  }
}

TEST(WeightedByKarma, DividesTheRangeInProportionToTheWeights) {
  const auto mirrors = with_karma({1, 2, 5, 2});
  for (const auto& [drawn, expected] : {std::pair{0.0, 0U},
                                        {0.09, 0U},
                                        {0.11, 1U},
                                        {0.29, 1U},
                                        {0.31, 2U},
                                        {0.79, 2U},
                                        {0.81, 3U},
                                        {kAlmostOne, 3U}})
    EXPECT_EQ(weighted(mirrors, Candidates::first(4), drawn), expected) << drawn;
}

TEST(WeightedByKarma, CountsOnlyTheCandidates) {
  const auto mirrors = with_karma({1, 100, 3});
  EXPECT_EQ(weighted(mirrors, set_of({0, 2}), 0.24), 0U);
  EXPECT_EQ(weighted(mirrors, set_of({0, 2}), 0.26), 2U);
}

TEST(WeightedByKarma, FindsEveryOneOfSixtyFour) {
  const std::vector<MirrorView> mirrors(64);
  for (std::size_t i = 0; i < 64; ++i)
    EXPECT_EQ(weighted(mirrors, Candidates::first(64), (static_cast<double>(i) + 0.5) / 64), i);
}

TEST(WeightedByKarma, NeverTakesAWeightThatIsNone) {
  for (const auto none : {0.0, -1.0, kNaN, -kInfinite}) {
    const auto mirrors = with_karma({none, 1, none, 1, none});
    for (const auto& [drawn, expected] :
         {std::pair{0.0, 1U}, {0.49, 1U}, {0.51, 3U}, {kAlmostOne, 3U}})
      EXPECT_EQ(weighted(mirrors, Candidates::first(5), drawn), expected) << none;
  }
}

TEST(WeightedByKarma, WithoutAnyWeightEverybodyHasTheSame) {
  for (const auto none : {0.0, -1.0, kNaN, kInfinite}) {
    const auto mirrors = with_karma({none, none});
    EXPECT_EQ(weighted(mirrors, Candidates::first(2), 0.49), 0U) << none;
    EXPECT_EQ(weighted(mirrors, Candidates::first(2), 0.51), 1U) << none;
    EXPECT_DOUBLE_EQ(karma_shares(mirrors, Candidates::first(2))[1], 0.5) << none;
  }
}

TEST(WeightedByKarma, WithAnInfiniteSumEverybodyHasTheSame) {
  for (const auto huge : {kInfinite, std::numeric_limits<double>::max()}) {
    const auto mirrors = with_karma({huge, 1, huge, 1});
    EXPECT_EQ(weighted(mirrors, Candidates::first(4), 0.26), 1U);
    EXPECT_DOUBLE_EQ(karma_shares(mirrors, Candidates::first(4))[1], 0.25);
  }
}

TEST(WeightedByKarma, RoundingNeverLeadsPastTheLastWeight) {
  SeededRandom random(5);
  for (int round = 0; round < 2000; ++round) {
    std::vector<MirrorView> mirrors(2 + random.below(63));
    for (auto& mirror : mirrors) mirror.karma = 0.5 + random.uniform();
    mirrors.back().karma = 0;  // a draw beyond the end would give this or a later position
    const auto n = mirrors.size();
    ASSERT_EQ(weighted(mirrors, Candidates::first(n), kAlmostOne), n - 2) << n;
  }
}

TEST(KarmaShares, AreTheWeightsMadeToSumToOne) {
  const auto mirrors = with_karma({1, 3, 4, kNaN});
  const auto shares = karma_shares(mirrors, set_of({0, 1, 3}));
  EXPECT_DOUBLE_EQ(shares[0], 0.25);
  EXPECT_DOUBLE_EQ(shares[1], 0.75);
  EXPECT_EQ(shares[2], 0);
  EXPECT_EQ(shares[3], 0);
  EXPECT_DOUBLE_EQ(sum_of(shares), 1);
}

TEST(UniformShares, AreEqualForTheCandidatesAndNoneForTheRest) {
  const auto shares = uniform_shares(set_of({1, 3}));
  EXPECT_EQ(shares[0], 0);
  EXPECT_DOUBLE_EQ(shares[1], 0.5);
  EXPECT_DOUBLE_EQ(shares[3], 0.5);
  EXPECT_DOUBLE_EQ(sum_of(shares), 1);
  EXPECT_EQ(sum_of(uniform_shares({})), 0);
}

}  // namespace
}  // namespace karmad
