#include "agent/health/state.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace karmad {
namespace {

using namespace std::chrono_literals;

RoundTrips after(const std::vector<Micros>& measured) {
  RoundTrips trips;
  for (auto trip : measured) EXPECT_TRUE(trips.add(trip));
  return trips;
}

TEST(RoundTrips, TheFirstMeasurementIsTheAverageAlsoWhenItIsZero) {  // SS-152
  EXPECT_EQ(RoundTrips().average(), std::nullopt);
  EXPECT_EQ(RoundTrips().smoothed(), std::nullopt);
  EXPECT_EQ(after({7ms}).smoothed(), Micros(7ms));
  EXPECT_EQ(after({0ms}).smoothed(), Micros(0));
}

TEST(RoundTrips, OneFifthOfTheNextMeasurementEntersTheAverage) {  // SS-153
  struct Row {
    Micros before, measured;
    double expected;
  };
  for (const auto& [before, measured, expected] : {Row{0us, 4us, 0.8},
                                                   {2500us, 40ms, 10'000},
                                                   {8500us, 8500us, 8500},
                                                   {2ms, 2002ms, 402'000},
                                                   {0ms, 500us, 100}})
    EXPECT_NEAR(after({before, measured}).average().value(), expected, expected * 1e-9);
}

TEST(RoundTrips, ForgetASpikeStepByStep) {  // SS-153
  RoundTrips trips;
  for (const auto& [measured, expected] : {std::pair{10ms, 10'000us},
                                           {10ms, 10'000us},
                                           {110ms, 30'000us},
                                           {10ms, 26'000us},
                                           {10ms, 22'800us}}) {
    trips.add(measured);
    EXPECT_EQ(trips.smoothed(), Micros(expected));
  }
}

TEST(RoundTrips, RefuseANegativeMeasurement) {  // SS-154
  auto trips = after({4ms});
  EXPECT_FALSE(trips.add(-1us));
  EXPECT_EQ(trips.smoothed(), Micros(4ms));
  EXPECT_EQ(trips.least(), Micros(0));
}

TEST(RoundTrips, StartAgainAfterTheMirrorWasUnavailable) {  // SS-151
  auto trips = after({10ms, 20ms});
  trips.clear();
  EXPECT_EQ(trips.average(), std::nullopt);
  EXPECT_EQ(trips.least(), Micros(0));
  trips.add(90ms);
  EXPECT_EQ(trips.smoothed(), Micros(90ms));
}

TEST(RoundTrips, TheLeastIsThatOfTheLastTenAndZeroBelowTwo) {  // SD-011
  RoundTrips trips;
  EXPECT_EQ(trips.least(), Micros(0));
  trips.add(1ms);
  EXPECT_EQ(trips.least(), Micros(0));
  trips.add(9ms);
  EXPECT_EQ(trips.least(), Micros(1ms));
  for (int i = 0; i < 8; ++i) trips.add(5ms);
  EXPECT_EQ(trips.least(), Micros(1ms));
  trips.add(5ms);  // the eleventh: the 1 ms is forgotten
  EXPECT_EQ(trips.least(), Micros(5ms));
}

}  // namespace
}  // namespace karmad
