#include "agent/transport/loop/deadlines.hpp"

#include <gtest/gtest.h>

#include <functional>
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

}  // namespace
}  // namespace karmad
