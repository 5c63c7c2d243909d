#include "balancer/rules/hedge_plan.hpp"

#include <gtest/gtest.h>

namespace karmad {
namespace {

TEST(OverloadedForHedging, IsAboveItsShareOfTheUsualLoad) {
  EXPECT_FALSE(overloaded_for_hedging(20, 10.0, 200));
  EXPECT_TRUE(overloaded_for_hedging(21, 10.0, 200));
  EXPECT_TRUE(overloaded_for_hedging(11, 10.0, 100));
}

TEST(OverloadedForHedging, IsNeverAFewQueries) {
  EXPECT_FALSE(overloaded_for_hedging(4, 0.1, 200));
  EXPECT_TRUE(overloaded_for_hedging(5, 0.1, 200));
}

TEST(OverloadedForHedging, NeedsToKnowWhatIsUsual) {
  EXPECT_FALSE(overloaded_for_hedging(1000, std::nullopt, 200));
}

TEST(OverloadedForHedging, IsSwitchedOffByZero) {
  EXPECT_FALSE(overloaded_for_hedging(1000, 1.0, 0));
}

}  // namespace
}  // namespace karmad
