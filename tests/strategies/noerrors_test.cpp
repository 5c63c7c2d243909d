#include "strategies/kinds/by_karma.hpp"

#include <gtest/gtest.h>

#include "tests/strategies/builders.hpp"
#include "tests/strategies/scripted_random.hpp"

namespace karmad {
namespace {

std::size_t pick_noerrors(const std::vector<MirrorView>& mirrors, double drawn) {
  testing::ScriptedRandom chance{drawn};
  return testing::pick_any(mirrors, {}, NoErrors{}, chance);
}

// Case 8, HA-008, HA-023
TEST(NoErrors, TakesTheMirrorWithTheLowestErrorRateForAnyKarma) {
  const std::vector<MirrorView> mirrors{{.karma = 0.99, .rates = error_rates(90, 0, 10)},
                                        {.karma = 0.01, .rates = error_rates(91, 0, 9)}};
  EXPECT_EQ(pick_noerrors(mirrors, 0.0), 1U);
}

TEST(NoErrors, WeighsEquallyGoodMirrorsByKarma) {
  const std::vector<MirrorView> mirrors{{.karma = 0.8, .rates = error_rates(98, 0, 2)},
                                        {.karma = 0.2, .rates = error_rates(100, 0, 0)},
                                        {.karma = 9.0, .rates = error_rates(90, 0, 10)}};
  EXPECT_EQ(pick_noerrors(mirrors, 0.79), 0U);
  EXPECT_EQ(pick_noerrors(mirrors, 0.81), 1U);
}

TEST(NoErrors, PassesOverAMirrorWithoutSuccess) {
  const std::vector<MirrorView> mirrors{{.karma = 0.9},
                                        {.karma = 0.1, .rates = error_rates(1, 0, 99)}};
  EXPECT_EQ(pick_noerrors(mirrors, 0.0), 1U);
}

TEST(NoErrors, IsPlainRandomWithoutAnySuccess) {
  const std::vector<MirrorView> mirrors{{.karma = 0.99}, {.karma = 0.01}};
  EXPECT_EQ(pick_noerrors(mirrors, 0.49), 0U);
  EXPECT_EQ(pick_noerrors(mirrors, 0.51), 1U);
  EXPECT_DOUBLE_EQ(NoErrors{}.shares(mirrors, Candidates::first(2))[1], 0.5);
}

}  // namespace
}  // namespace karmad
