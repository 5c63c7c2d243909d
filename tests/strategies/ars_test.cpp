#include "strategies/kinds/by_load.hpp"

#include <gtest/gtest.h>

#include "tests/strategies/builders.hpp"

namespace karmad {
namespace {

using Mirrors = std::vector<MirrorView>;

std::size_t pick_by_rank(const Mirrors& mirrors) {
  SeededRandom random(1);
  return testing::pick_any(mirrors, {}, Ars(3), random);
}

TEST(Ars, RanksByTheCubeOfTheQueueTimesTheDuration) {
  EXPECT_EQ(c3_rank({.in_flight = 1, .latency = 5000}), 40'000);
  EXPECT_EQ(pick_by_rank({{.in_flight = 1, .latency = 5000}, {.latency = 39'000}}), 1U);
  EXPECT_EQ(pick_by_rank({{.in_flight = 1, .latency = 5000}, {.latency = 41'000}}), 0U);
}

TEST(Ars, TakesTheBestOfAll) {
  Mirrors mirrors(5);
  for (auto& mirror : mirrors) mirror.latency = 5000;
  mirrors[3].latency = 4999;
  EXPECT_DOUBLE_EQ(Ars(3).shares(mirrors, Candidates::first(5))[3], 1);
  EXPECT_EQ(pick_by_rank(mirrors), 3U);
}

TEST(Ars, DividesTheQueueByTheWeight) {
  EXPECT_EQ(pick_by_rank({{.in_flight = 3, .weight = 4, .latency = 5000},
                          {.in_flight = 1, .latency = 5000}}),
            0U);
}

TEST(Ars, DeadMirrorsAreLeftOut) {  // HA-022
  EXPECT_EQ(pick_by_rank({{.errors_in_a_row = 4}, {.in_flight = 50, .latency = 5000}}), 1U);
}

}  // namespace
}  // namespace karmad
