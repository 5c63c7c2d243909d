#include "strategies/kinds/by_load.hpp"

#include <gtest/gtest.h>

#include "tests/strategies/builders.hpp"
#include "tests/strategies/scripted_random.hpp"

namespace karmad {
namespace {

using testing::ScriptedRandom;
using testing::set_of;
using testing::with_in_flight;

TEST(LeastOps, DrawsNothingWhenThereIsOneOnly) {  // SS-125
  ScriptedRandom no_chance{};
  EXPECT_EQ(less_busy_of_two(with_in_flight({1, 7, 0}), set_of({1}), no_chance), 1U);
}

TEST(LeastOps, TakesTheLessBusyOfTwoDifferentOnes) {  // SS-126
  const auto mirrors = with_in_flight({9, 5, 7});
  struct Row {
    double first, second;  // the second is drawn of those that are left
    std::size_t expected;
  };
  for (const auto& [first, second, expected] : {Row{0.0, 0.0, 1},
                                                {0.0, 0.5, 2},
                                                {0.4, 0.0, 1},
                                                {0.4, 0.5, 1},
                                                {0.9, 0.0, 2},
                                                {0.9, 0.5, 1}}) {
    ScriptedRandom random{first, second};
    EXPECT_EQ(less_busy_of_two(mirrors, Candidates::first(3), random), expected)
        << first << ' ' << second;
    EXPECT_TRUE(random.used_up());
  }
}

TEST(LeastOps, ATieIsDecidedByChanceNotByTheOrderOfTheDraws) {  // SS-126
  const auto mirrors = with_in_flight({4, 4});
  for (const auto& [first, coin, expected] :
       {std::tuple{0.0, 0.0, 0U}, {0.0, 0.5, 1U}, {0.5, 0.0, 1U}, {0.5, 0.5, 0U}}) {
    ScriptedRandom random{first, 0.0, coin};
    EXPECT_EQ(less_busy_of_two(mirrors, Candidates::first(2), random), expected);
  }
}

TEST(LeastOps, SharesAreTheExactProbabilities) {
  const auto shares = [](std::initializer_list<std::uint32_t> counts) {
    return two_choice_shares(with_in_flight(counts), Candidates::first(counts.size()));
  };
  const auto three = shares({0, 6, 3});
  EXPECT_DOUBLE_EQ(three[0], 2.0 / 3);
  EXPECT_DOUBLE_EQ(three[1], 0);
  EXPECT_DOUBLE_EQ(three[2], 1.0 / 3);
  const auto tied = shares({5, 5, 16});
  EXPECT_DOUBLE_EQ(tied[0], 0.5);
  EXPECT_DOUBLE_EQ(tied[2], 0);
  EXPECT_DOUBLE_EQ(shares({8})[0], 1);
}

}  // namespace
}  // namespace karmad
