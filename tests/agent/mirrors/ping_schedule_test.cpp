#include "agent/mirrors/ping_schedule.hpp"

#include <gtest/gtest.h>

namespace karmad {
namespace {

using namespace std::chrono_literals;

constexpr TimePoint at(Micros time) {
  return TimePoint{1h} + time;
}

TEST(PingSchedule, IsDueAnIntervalAfterTheLastReplyOfAnyKind) {  // HA-013
  PingSchedule schedule(1s);
  EXPECT_EQ(schedule.due(at(0s)), TimePoint{}) << "at once, at first";
  schedule.ping_starts();
  schedule.ping_ended(at(10s));
  EXPECT_EQ(schedule.due(at(4s)), at(11s));
  EXPECT_EQ(schedule.due(at(10s + 700ms)), at(11s + 700ms)) << "a query was answered";
  EXPECT_EQ(schedule.due(at(11s + 300ms)), at(12s + 300ms)) << "and another one";
}

TEST(PingSchedule, IsDueAnIntervalAfterThePingWhereSelectionDependsOnIt) {  // X-6, SD-003
  PingSchedule schedule(1s);
  schedule.always();
  schedule.ping_starts();
  schedule.ping_ended(at(10s));
  EXPECT_EQ(schedule.due(at(10s + 700ms)), at(11s));
}

}  // namespace
}  // namespace karmad
