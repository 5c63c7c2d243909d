#include "agent/stats/load_baseline.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "strategies/estimates/latency_estimate.hpp"

namespace karmad {
namespace {

using namespace std::chrono_literals;

TimePoint baseline_at(Micros since_epoch) {
  return TimePoint{since_epoch};
}

std::uint32_t median(std::vector<std::uint32_t> in_flight) {
  return lower_median<std::uint32_t>(in_flight);
}

TEST(TypicalInFlight, DoesNotShowOneMirrorThatStalls) {
  EXPECT_EQ(median({3, 200, 4}), 4U);
  EXPECT_EQ(median({200, 3}), 3U);
  EXPECT_EQ(median({200, 3, 4, 5}), 4U);
  EXPECT_EQ(median({90, 0, 80}), 80U) << "nor one that is idle";
  EXPECT_EQ(median({7}), 7U);
  EXPECT_EQ(median({}), 0U);
}

/// Looks baseline_at a load ten times a second from `begin` up to `end`.
void sample(LoadBaseline& usual, Micros begin, Micros end, double load) {
  for (auto time = begin; time < end; time += 100ms) usual.add(baseline_at(time), load);
}

TEST(LoadBaseline, IsNotKnownInTheFirstSeconds) {
  LoadBaseline usual;
  EXPECT_FALSE(usual.average());
  sample(usual, 1h, 1h + 10s, 5);
  EXPECT_FALSE(usual.average());
  sample(usual, 1h + 10s, 1h + 11s, 5);
  EXPECT_DOUBLE_EQ(usual.average().value(), 5);
}

TEST(LoadBaseline, RisesSlowlyAndForgetsInMinutes) {
  LoadBaseline usual;
  sample(usual, 0s, 120s, 10);
  sample(usual, 120s, 125s, 100);
  EXPECT_LT(usual.average().value(), 18);
  sample(usual, 125s, 180s, 100);
  EXPECT_GT(usual.average().value(), 60);
  sample(usual, 180s, 480s, 100);
  EXPECT_GT(usual.average().value(), 99);
}

TEST(LoadBaseline, DoesNotDependOnHowOftenItLooks) {
  LoadBaseline often;
  LoadBaseline rarely;
  sample(often, 0s, 30s, 10);
  sample(often, 30s, 60s, 20);
  for (int second = 0; second < 60; ++second)
    rarely.add(baseline_at(second * 1s), second < 30 ? 10 : 20);
  EXPECT_NEAR(often.average().value(), rarely.average().value(), 0.5);
}

TEST(LoadBaseline, SurvivesPausesAndTimesThatDoNotRise) {
  LoadBaseline usual;
  usual.add(baseline_at(10s), 4);
  usual.add(baseline_at(10s), 400);
  usual.add(baseline_at(9s), 400);
  usual.add(baseline_at(10h), 6);
  EXPECT_DOUBLE_EQ(usual.average().value(), 6);
}

}  // namespace
}  // namespace karmad
