#include "agent/transport/loop/ticks.hpp"

#include <gtest/gtest.h>

#include <array>

#include "agent/transport/loop/loop.hpp"

namespace karmad {
namespace {

using namespace std::chrono_literals;

struct NotedDeadline final : Deadline {
  TimePoint at{};
  void expired() override { at = Ticks::now(); }
};

TEST(Ticks, AreNoneBeforeTheFirstDeadlineIsDue) {
  Loop loop(0, 1 << 20, 1);
  std::array<NotedDeadline, 30> disarmed;
  for (auto& each : disarmed) loop.arm(each, Ticks::now() + 60ms);
  for (auto& each : disarmed) each.disarm();
  NotedDeadline coarse;
  NotedDeadline fine;
  const auto due = Ticks::now() + 250ms;
  loop.arm(coarse, due);
  loop.arm_finely(fine, due - 100ms);
  int handlers = 0;
  while (coarse.armed() && loop.io.run_one_for(10s) == 1) ++handlers;
  EXPECT_GE(fine.at, due - 100ms);
  EXPECT_GE(coarse.at, due);
  // One for those that were disarmed, and what the timers leave behind when they are set anew.
  EXPECT_LE(handlers, 5);
}

TEST(Ticks, OfALoopThatEndsAreNoneForDeadlinesThatWereDisarmed) {
  Loop loop(0, 1 << 20, 1);
  NotedDeadline noted;
  loop.arm(noted, Ticks::now() + 10min);
  noted.disarm();
  loop.let_end();
  const auto began = Ticks::now();
  loop.run();
  EXPECT_LT(Ticks::now() - began, 1min);
}

TEST(Ticks, ComeRegularlyWhileManyDeadlinesAreArmed) {
  Loop loop(0, 1 << 20, 1);
  std::array<NotedDeadline, 40> noted;
  const auto before = Ticks::now();
  std::size_t wakes = 0;
  while (wakes < 3 && Ticks::now() < before + 10s) {
    for (auto& each : noted) loop.arm(each, before + 10min);
    wakes += loop.io.run_one_for(1s);
  }
  EXPECT_EQ(wakes, 3U) << "no deadline was due";
}

}  // namespace
}  // namespace karmad
