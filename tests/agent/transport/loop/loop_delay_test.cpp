#include "agent/transport/loop/ticks.hpp"

#include <gtest/gtest.h>

namespace karmad {
namespace {

using namespace std::chrono_literals;

TimePoint delay_at(Micros since) {
  return TimePoint{1h + since};
}

TEST(LoopDelays, AreTheLongestOfThisMinuteAndTheLast) {
  LoopDelay delay;
  EXPECT_EQ(delay.longest(), 0us);
  delay.note(delay_at(0s), 40ms);
  delay.note(delay_at(1s), 3ms);
  EXPECT_EQ(delay.longest(), 40ms);
  delay.note(delay_at(60s), 7ms);
  EXPECT_EQ(delay.longest(), 40ms);
  delay.note(delay_at(120s), 1ms);
  EXPECT_EQ(delay.longest(), 7ms);
  delay.note(delay_at(180s), 0ms);
  EXPECT_EQ(delay.longest(), 1ms);
}

TEST(LoopDelays, AreForgottenAfterAPauseOfTwoMinutes) {
  LoopDelay delay;
  delay.note(delay_at(0s), 40ms);
  delay.note(delay_at(130s), 2ms);
  EXPECT_EQ(delay.longest(), 2ms);
}

TEST(LoopDelays, OfMoreThanFiveMillisecondsAreCounted) {
  LoopDelay delay;
  for (const auto late : {0us, 4'999us, 5'000us, 5'001us, 90'000us}) delay.note(delay_at(1s), late);
  EXPECT_EQ(delay.late(), 2U);
}

TEST(LoopDelays, SayWhenTheLoopWasLateTheLastTime) {
  LoopDelay delay;
  EXPECT_EQ(delay.last_late(), TimePoint{});
  delay.note(delay_at(1s), 5'001us);
  delay.note(delay_at(2s), 5'000us);
  EXPECT_EQ(delay.last_late(), delay_at(1s));
}

}  // namespace
}  // namespace karmad
