#include "agent/stats/usual_load.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace karmad {
namespace {

using namespace std::chrono_literals;

TimePoint at(Micros since_epoch) {
  return TimePoint{since_epoch};
}

std::uint32_t typical(std::vector<std::uint32_t> in_flight) {
  return typical_in_flight(in_flight);
}

TEST(TypicalInFlight, DoesNotShowOneMirrorThatStalls) {
  EXPECT_EQ(typical({3, 200, 4}), 4U);
  EXPECT_EQ(typical({200, 3}), 3U);
  EXPECT_EQ(typical({200, 3, 4, 5}), 4U);
  EXPECT_EQ(typical({90, 0, 80}), 80U) << "nor one that is idle";
  EXPECT_EQ(typical({7}), 7U);
  EXPECT_EQ(typical({}), 0U);
}

/// Looks at a load ten times a second from `begin` up to `end`.
void look(UsualLoad& usual, Micros begin, Micros end, double load) {
  for (auto time = begin; time < end; time += 100ms) usual.add(at(time), load);
}

TEST(UsualLoad, IsNotKnownInTheFirstSeconds) {
  UsualLoad usual;
  EXPECT_FALSE(usual.average());
  look(usual, 1h, 1h + 10s, 5);
  EXPECT_FALSE(usual.average());
  look(usual, 1h + 10s, 1h + 11s, 5);
  EXPECT_DOUBLE_EQ(usual.average().value(), 5);
}

TEST(UsualLoad, RisesSlowlyAndForgetsInMinutes) {
  UsualLoad usual;
  look(usual, 0s, 120s, 10);
  look(usual, 120s, 125s, 100);
  EXPECT_LT(usual.average().value(), 18);
  look(usual, 125s, 180s, 100);
  EXPECT_GT(usual.average().value(), 60);
  look(usual, 180s, 480s, 100);
  EXPECT_GT(usual.average().value(), 99);
}

TEST(UsualLoad, DoesNotDependOnHowOftenItLooks) {
  UsualLoad often;
  UsualLoad rarely;
  look(often, 0s, 30s, 10);
  look(often, 30s, 60s, 20);
  for (int second = 0; second < 60; ++second) rarely.add(at(second * 1s), second < 30 ? 10 : 20);
  EXPECT_NEAR(often.average().value(), rarely.average().value(), 0.5);
}

TEST(UsualLoad, SurvivesPausesAndTimesThatDoNotRise) {
  UsualLoad usual;
  usual.add(at(10s), 4);
  usual.add(at(10s), 400);
  usual.add(at(9s), 400);
  usual.add(at(10h), 6);
  EXPECT_DOUBLE_EQ(usual.average().value(), 6);
}

}  // namespace
}  // namespace karmad
