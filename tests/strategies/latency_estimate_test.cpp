#include "strategies/estimates/latency_estimate.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "strategies/estimates/slow_start.hpp"

namespace karmad {
namespace {

using namespace std::chrono_literals;

float after_samples(float estimate, float sample, int count, Micros pause) {
  for (int i = 0; i < count; ++i) estimate = next_estimate(estimate, sample, pause);
  return estimate;
}

TEST(LatencyEstimate, RisesFasterThanItFalls) {
  EXPECT_NEAR(next_estimate(5000, 50'000, 0us), 9500, 1);
  EXPECT_NEAR(next_estimate(50'000, 5000, 0us), 49'100, 1);
}

TEST(LatencyEstimate, OneSlowSearchIsNotEnough) {
  EXPECT_LT(next_estimate(5000, 25'000, 1ms), 7100);
  EXPECT_GT(after_samples(5000, 50'000, 20, 1ms), 40'000);
}

TEST(LatencyEstimate, ASampleAfterAPauseCountsMore) {
  EXPECT_NEAR(next_estimate(50'000, 5000, 1s), 27'500, 1) << "one half after the window";
  EXPECT_NEAR(next_estimate(50'000, 5000, 9s), 9500, 1);
  EXPECT_NEAR(next_estimate(50'000, 5000, -5s), 49'100, 1) << "clocks of two workers differ";
}

TEST(TypicalDuration, IsTheMedianOfTheMirrorsThatAreAsked) {
  const auto typical = [](std::vector<KnownDuration> known) { return typical_duration(known); };
  constexpr std::int64_t kNow = 60'000'000;
  EXPECT_EQ(typical({}), 0);
  EXPECT_EQ(typical({{900, kNow}, {300, kNow - 1'000'000}, {500, kNow}}), 500);
  EXPECT_EQ(typical({{900, kNow - 2'000'000}, {150, kNow}, {800, kNow - 7'000'000}}), 150);
  EXPECT_EQ(typical({{900, 10}, {150, 10}, {800, 20}}), 800) << "however long ago";
}

TEST(FailurePenalty, FailuresAddUpToABound) {
  EXPECT_EQ(penalty_after_failure(0, 11'000), 11'000);
  EXPECT_EQ(penalty_after_failure(11'000, 11'000), 22'000);
  float penalty = 0;
  for (int i = 0; i < 100; ++i) penalty = penalty_after_failure(penalty, 11'000);
  EXPECT_EQ(penalty, 220'000);
  EXPECT_EQ(penalty_after_failure(1e6F, 11'000), 1e6F) << "a timeout's is not reduced";
}

TEST(FailurePenalty, DecaysWithTime) {
  EXPECT_NEAR(penalty_after(10'000, 2s), 5000, 1);
  EXPECT_EQ(penalty_after(10'000, 0us), 10'000);
}

TEST(SlowStart, TheWeightGrowsFromATenthToAllOfIt) {
  const SlowStartRules rules{.duration = 10s};
  EXPECT_DOUBLE_EQ(started_part(0s, rules), 0.1);
  EXPECT_DOUBLE_EQ(started_part(5s, rules), 0.5);
  EXPECT_DOUBLE_EQ(started_part(10s, rules), 1);
  EXPECT_DOUBLE_EQ(started_part(0s, {}), 1) << "disabled";
}

TEST(SlowStart, EveryAnswerAllowsOneMoreInFlight) {
  EXPECT_EQ(starting_limit(0), 1U);
  EXPECT_EQ(starting_limit(7), 8U);
}

}  // namespace
}  // namespace karmad
