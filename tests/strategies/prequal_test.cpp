#include "strategies/kinds/by_load.hpp"

#include <gtest/gtest.h>

#include "tests/strategies/builders.hpp"

namespace karmad {
namespace {

using Mirrors = std::vector<MirrorView>;

std::size_t pick_cold(const Mirrors& mirrors, std::size_t drawn = Candidates::kMost) {
  SeededRandom random(1);
  return testing::pick_any(mirrors, {}, Prequal(3, drawn), random);
}

TEST(Prequal, TakesTheColdMirrorWithTheLowestLatency) {
  EXPECT_EQ(pick_cold({{.in_flight = 4, .latency = 6000},
                       {.in_flight = 5, .latency = 5000},
                       {.in_flight = 9, .latency = 1000},
                       {.in_flight = 5, .latency = 7000}}),
            1U)
      << "the third one has most attempts in flight: it is hot";
}

TEST(Prequal, IfAllThatAreDrawnAreHotTakesTheLessBusyOne) {
  Mirrors mirrors(20);
  for (auto& mirror : mirrors) mirror.latency = 5000;
  for (const std::size_t hot : {4U, 11U, 17U}) mirrors[hot] = {.in_flight = 9, .latency = 10};
  mirrors[11].in_flight = 8;
  mirrors[4].latency = 1;
  const Prequal prequal(3, 3);
  SeededRandom random(1);
  // All cold ones were tried by this query.
  auto cold = Candidates::first(20) - testing::set_of({4, 11, 17});
  for (int i = 0; i < 20; ++i)
    EXPECT_NE(testing::pick_any(mirrors, testing::set_of({4, 11, 17}), prequal, random), 4U);
  EXPECT_EQ(select({.avoided = cold}, {}, mirrors, prequal, random)->acceptable.size(), 3U);
}

TEST(Prequal, OneMirrorOfAnEqualSetIsNeverHot) {
  const Mirrors mirrors(3);
  const auto shares = Prequal(3, 3).shares(mirrors, Candidates::first(3));
  for (std::size_t i = 0; i < 3; ++i) EXPECT_DOUBLE_EQ(shares[i], 1.0 / 3);
}

TEST(Prequal, DeadMirrorsAreLeftOut) {  // HA-022
  EXPECT_EQ(pick_cold({{.errors_in_a_row = 4}, {.in_flight = 50, .latency = 5000}}), 1U);
}

}  // namespace
}  // namespace karmad
