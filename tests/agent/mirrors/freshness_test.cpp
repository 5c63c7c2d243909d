#include "agent/health/state.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <random>
#include <vector>

namespace karmad {
namespace {

using namespace std::chrono_literals;

TimePoint at(Micros since_epoch) {
  return TimePoint{since_epoch};
}

TEST(Freshness, TakesAMirrorAtTheNewestGenerationForFreshAtThatMoment) {
  Freshness freshness;
  EXPECT_EQ(freshness.fresh_until(7, at(5s)), at(5s)) << "no generation was seen";
  freshness.seen(7, at(5s));
  EXPECT_EQ(freshness.fresh_until(7, at(5s)), at(5s));
  EXPECT_EQ(freshness.fresh_until(7, at(60s)), at(60s)) << "no update for a minute";
  EXPECT_EQ(freshness.fresh_until(8, at(60s)), at(60s));
}

TEST(Freshness, TakesAMirrorForFreshUntilAnythingNewerWasSeen) {
  Freshness freshness;
  freshness.seen(7, at(5s));
  freshness.seen(9, at(20s));
  freshness.seen(12, at(30s));
  EXPECT_EQ(freshness.fresh_until(6, at(40s)), at(5s));
  EXPECT_EQ(freshness.fresh_until(7, at(40s)), at(20s));
  EXPECT_EQ(freshness.fresh_until(8, at(40s)), at(20s));
  EXPECT_EQ(freshness.fresh_until(9, at(40s)), at(30s));
  EXPECT_EQ(freshness.fresh_until(12, at(40s)), at(40s));
}

TEST(Freshness, HoldsForTheTimeOfTheAnswerDespiteLaterUpdates) {
  Freshness freshness;
  freshness.seen(7, at(5s));
  freshness.seen(8, at(20s));
  EXPECT_EQ(freshness.fresh_until(7, at(19s)), at(19s));
}

TEST(Freshness, LearnsNothingFromAGenerationThatComesLate) {
  Freshness freshness;
  freshness.seen(9, at(10s));
  freshness.seen(8, at(20s));
  freshness.seen(9, at(30s));
  EXPECT_EQ(freshness.size(), 1U);
  EXPECT_EQ(freshness.fresh_until(7, at(40s)), at(10s));
  EXPECT_EQ(freshness.fresh_until(8, at(40s)), at(10s));
}

TEST(Freshness, IsNotConfusedByAClockThatSteppedBack) {
  Freshness freshness;
  freshness.seen(1, at(10s));
  freshness.seen(2, at(9s));
  freshness.seen(3, at(12s));
  EXPECT_EQ(freshness.fresh_until(1, at(20s)), at(10s));
  EXPECT_EQ(freshness.fresh_until(2, at(20s)), at(12s));
}

TEST(Freshness, ForgetsGenerationsThatWereRolledBack) {
  Freshness freshness;
  for (const std::uint64_t generation : {1, 5, 9})
    freshness.seen(generation, at(Micros(generation * 1'000'000)));
  freshness.forget_newer(5);
  EXPECT_EQ(freshness.fresh_until(5, at(20s)), at(20s));
  EXPECT_EQ(freshness.fresh_until(4, at(20s)), at(5s));
  freshness.forget_newer(0);
  EXPECT_EQ(freshness.size(), 0U);
}

TEST(Freshness, TakesAnyGeneration) {
  constexpr auto kMost = std::numeric_limits<std::uint64_t>::max();
  Freshness freshness;
  freshness.seen(0, at(1s));
  freshness.seen(kMost, at(2s));
  EXPECT_EQ(freshness.fresh_until(0, at(3s)), at(2s));
  EXPECT_EQ(freshness.fresh_until(kMost, at(3s)), at(3s));
}

// Against a history that forgets nothing, updates coming at any pace for weeks.
TEST(Freshness, IsNeverFresherAndHardlyStalerAfterForgettingOldUpdates) {
  struct Seen {
    std::uint64_t generation;
    TimePoint at;
  };
  std::mt19937_64 random{42};
  std::vector<Seen> all;
  Freshness freshness;
  auto now = at(1h);
  std::uint64_t generation = 0;
  for (int i = 0; i < 20'000; ++i) {
    now += Micros(1 + random() % (i % 100 == 0 ? 10'000'000'000 : 2'000'000));
    generation += 1 + random() % 3;
    all.push_back({generation, now});
    freshness.seen(generation, now);
    ASSERT_LE(freshness.size(), Freshness::kMost);
  }
  for (std::size_t i = 0; i + 1 < all.size(); ++i) {
    const auto exact = all[i + 1].at;
    const auto held = freshness.fresh_until(all[i].generation, now);
    ASSERT_LE(held, exact) << i;
    const auto age = static_cast<double>((now - exact).count());
    // A gap in the updates themselves is no loss; the merged pairs are within a few hundredths.
    ASSERT_LE(static_cast<double>((exact - held).count()), 0.05 * age + 1) << i;
  }
}

}  // namespace
}  // namespace karmad
