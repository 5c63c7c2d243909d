#include "agent/transport/loop/ticks.hpp"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <random>
#include <vector>

namespace karmad {
namespace {

using namespace std::chrono_literals;

struct Noted final : Deadline {
  std::function<void()> then = [] {};
  int times = 0;
  void expired() override {
    ++times;
    then();
  }
};

TimePoint at(Micros since_zero) {
  return TimePoint{since_zero};
}

TEST(Deadlines, ExpireOnceAtTheFirstTickAfterTheirTime) {
  Deadlines deadlines;
  Noted noted;
  deadlines.arm(noted, at(25ms));
  for (const auto now : {10ms, 20ms, 24ms}) {
    deadlines.tick(at(now));
    EXPECT_EQ(noted.times, 0) << now.count();
  }
  deadlines.tick(at(30ms));
  EXPECT_EQ(noted.times, 1);
  EXPECT_FALSE(noted.armed());
  EXPECT_TRUE(deadlines.empty());
  deadlines.tick(at(10s));
  EXPECT_EQ(noted.times, 1);
}

TEST(Deadlines, NeverExpireEarlyAndAtMostOneTickLateWhateverTheDistance) {
  for (const Micros distance :
       {1us, 9'999us, 10'000us, 123'456us, 5'119'999us, 5'120'000us, 61'234'567us, 300'000'000us}) {
    Deadlines deadlines;
    Noted noted;
    const auto start = 987'654'321us;
    deadlines.tick(at(start));
    deadlines.arm(noted, at(start + distance));
    auto now = start;
    while (noted.times == 0 && now < start + distance + 1s) {
      now += Deadlines::kTick;
      deadlines.tick(at(now));
      if (now < start + distance) {
        ASSERT_EQ(noted.times, 0) << distance.count();
      }
    }
    EXPECT_EQ(noted.times, 1) << distance.count();
    EXPECT_LE(now, start + distance + 2 * Deadlines::kTick) << distance.count();
  }
}

TEST(Deadlines, CatchUpAfterAPauseLongerThanTheWheel) {
  Deadlines deadlines;
  std::vector<Noted> noted(100);
  for (std::size_t i = 0; i < noted.size(); ++i)
    deadlines.arm(noted[i], at(static_cast<int>(i) * 100ms));
  deadlines.tick(at(60s));
  for (const auto& each : noted) EXPECT_EQ(each.times, 1);
}

TEST(Deadlines, ArmingAgainMovesTheTime) {
  Deadlines deadlines;
  Noted noted;
  deadlines.arm(noted, at(20ms));
  deadlines.arm(noted, at(100ms));
  deadlines.tick(at(50ms));
  EXPECT_EQ(noted.times, 0);
  deadlines.tick(at(120ms));
  EXPECT_EQ(noted.times, 1);
}

TEST(Deadlines, WhatIsArmedForThePastExpiresAtTheNextTick) {
  Deadlines deadlines;
  Noted noted;
  deadlines.tick(at(1s));
  deadlines.arm(noted, at(10ms));
  deadlines.tick(at(1s + Deadlines::kTick));
  EXPECT_EQ(noted.times, 1);
}

TEST(Deadlines, MayBeDisarmedDestroyedAndArmedFromWithinOneThatExpires) {
  Deadlines deadlines;
  Noted first;
  Noted disarmed;
  auto destroyed = std::make_unique<Noted>();
  deadlines.arm(first, at(10ms));
  deadlines.arm(disarmed, at(10ms));
  deadlines.arm(*destroyed, at(10ms));
  first.then = [&] {
    disarmed.disarm();
    destroyed.reset();
    if (first.times < 3) deadlines.arm(first, at(0ms));
  };
  deadlines.tick(at(20ms));
  EXPECT_EQ(first.times, 1);
  EXPECT_EQ(disarmed.times, 0);
  deadlines.tick(at(30ms));
  deadlines.tick(at(40ms));
  deadlines.tick(at(50ms));
  EXPECT_EQ(first.times, 3);
  EXPECT_TRUE(deadlines.empty());
}

TEST(Deadlines, TellWhenTheNextOneIsDue) {
  for (const Micros start : {0us, 3us, 987'654'321us})
    for (const Micros distance : {0us, 1us, 10'000us, 123'456us, 5'109'999us}) {
      Deadlines deadlines;
      deadlines.tick(at(start));
      EXPECT_EQ(deadlines.next_due(), std::nullopt);
      Noted soon;
      Noted late;
      EXPECT_GT(deadlines.arm(late, at(start + distance + 40s)), at(start + distance));
      const auto due = deadlines.arm(soon, at(start + distance));
      EXPECT_EQ(deadlines.next_due(), due) << distance.count();
      EXPECT_GT(due, at(start + distance));
      EXPECT_LE(due, at(start + distance + 2 * Deadlines::kTick));
      deadlines.tick(due - 1us);
      EXPECT_EQ(soon.times, 0);
      deadlines.tick(due);
      EXPECT_EQ(soon.times, 1) << distance.count();
      EXPECT_EQ(late.times, 0);
    }
}

TEST(Deadlines, AreAllCalledInTimeByWhoSleepsUntilTheNextOneIsDue) {
  for (const unsigned seed : {1U, 2U, 3U}) {
    std::minstd_rand random(seed);
    Deadlines deadlines;
    std::array<Noted, 200> noted;
    deadlines.tick(at(1s));
    for (auto& each : noted) deadlines.arm(each, at(1s + Micros{random() % 100'000'000}));
    for (std::size_t i = 0; i < noted.size(); i += 3) noted[i].disarm();
    for (int wakes = 0; auto next = deadlines.next_due(); ++wakes) {
      ASSERT_LT(wakes, 400);
      deadlines.tick(*next);
      for (std::size_t i = 0; i < noted.size(); ++i) {
        const bool due = i % 3 != 0 && noted[i].due() + Deadlines::kTick <= *next;
        ASSERT_TRUE(!due || noted[i].times == 1) << i;
      }
    }
    for (std::size_t i = 0; i < noted.size(); ++i) EXPECT_EQ(noted[i].times, i % 3 == 0 ? 0 : 1);
  }
}

}  // namespace
}  // namespace karmad
