#include "balancer/rules/error_texts.hpp"

#include <gtest/gtest.h>

namespace karmad {
namespace {

using namespace std::chrono_literals;

TEST(CrashingRequests, AreRememberedForFiveMinutesAndTheLatestSixteen) {
  CrashingRequests crashing;
  const TimePoint t0{1h};
  EXPECT_FALSE(crashing.any());
  crashing.add(1, t0);
  EXPECT_TRUE(crashing.contains(1, t0 + 5min - 1us));
  EXPECT_FALSE(crashing.contains(1, t0 + 5min));
  EXPECT_FALSE(crashing.contains(2, t0));
  crashing.add(1, t0 + 4min);
  EXPECT_TRUE(crashing.contains(1, t0 + 8min));
  for (std::size_t i = 0; i < CrashingRequests::kMost; ++i) crashing.add(100 + i, t0 + 5min);
  EXPECT_FALSE(crashing.contains(1, t0 + 5min));
  EXPECT_TRUE(crashing.contains(100, t0 + 5min));
  CrashingRequests next;
  next.take_over(crashing);
  EXPECT_TRUE(next.any());
  EXPECT_TRUE(next.contains(115, t0 + 5min));
}

}  // namespace
}  // namespace karmad
