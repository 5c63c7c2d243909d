#include "strategies/kinds/by_karma.hpp"

#include <gtest/gtest.h>

#include "tests/strategies/builders.hpp"
#include "tests/strategies/scripted_random.hpp"

namespace karmad {
namespace {

using testing::ScriptedRandom;
using testing::with_errors_in_a_row;

std::size_t pick(const std::vector<MirrorView>& mirrors, double drawn) {
  ScriptedRandom chance{drawn};
  return testing::pick_any(mirrors, {}, NoDeads{3}, chance);
}

// Case 7, HA-007, HA-022
TEST(NoDeads, ThreeErrorsInARowAreToleratedTheFourthIsNot) {
  EXPECT_EQ(pick(with_errors_in_a_row({3, 0}), 0.1), 0U);
  EXPECT_EQ(pick(with_errors_in_a_row({4, 0}), 0.1), 1U);
}

TEST(NoDeads, OneCleanAnswerOrPingBringsAMirrorBack) {
  auto mirrors = with_errors_in_a_row({4, 0});
  EXPECT_EQ(pick(mirrors, 0.1), 1U);
  mirrors[0].errors_in_a_row = 0;
  EXPECT_EQ(pick(mirrors, 0.1), 0U);
}

TEST(NoDeads, WhenAllAreDeadTheLoadWalksAlongTheFewestErrors) {
  auto mirrors = with_errors_in_a_row({4, 4, 4});
  std::vector<int> asked(3);
  SeededRandom chance(1);
  for (int i = 0; i < 300; ++i) {
    const auto chosen = testing::pick_any(mirrors, {}, NoDeads{3}, chance);
    ++asked[chosen];
    ++mirrors[chosen].errors_in_a_row;
  }
  EXPECT_EQ(asked, (std::vector{100, 100, 100}));
}

TEST(NoDeads, WeighsTheLivingByKarma) {
  auto mirrors = testing::with_karma({8, 1, 1});
  mirrors[0].errors_in_a_row = 4;
  EXPECT_EQ(pick(mirrors, 0.49), 1U);
  EXPECT_EQ(pick(mirrors, 0.51), 2U);
}

TEST(NoDeads, ARetryPrefersADeadMirrorToTheOneThatJustFailed) {
  ScriptedRandom chance{0.0};
  EXPECT_EQ(
      testing::pick_any(with_errors_in_a_row({0, 9}), testing::set_of({0}), NoDeads{3}, chance),
      1U);
}

}  // namespace
}  // namespace karmad
