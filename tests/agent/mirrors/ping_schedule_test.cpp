#include "agent/mirrors/ping.hpp"

#include <gtest/gtest.h>

namespace karmad {
namespace {

using namespace std::chrono_literals;

constexpr TimePoint after_start(Micros time) {
  return TimePoint{1h} + time;
}

TEST(PingSchedule, IsDueAnIntervalAfterTheLastReplyOfAnyKind) {  // HA-013
  PingSchedule schedule(1s);
  EXPECT_EQ(schedule.due(after_start(0s)), TimePoint{}) << "at once, at first";
  schedule.ping_starts();
  schedule.ping_ended(after_start(10s));
  EXPECT_EQ(schedule.due(after_start(4s)), after_start(11s));
  EXPECT_EQ(schedule.due(after_start(10s + 700ms)), after_start(11s + 700ms))
      << "a query was answered";
  EXPECT_EQ(schedule.due(after_start(11s + 300ms)), after_start(12s + 300ms)) << "and another one";
}

TEST(PingSchedule, IsDueAnIntervalAfterThePingWhereSelectionDependsOnIt) {  // X-6, SD-003
  PingSchedule schedule(1s);
  schedule.always();
  schedule.ping_starts();
  schedule.ping_ended(after_start(10s));
  EXPECT_EQ(schedule.due(after_start(10s + 700ms)), after_start(11s));
}

}  // namespace
}  // namespace karmad
