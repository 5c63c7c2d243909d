#include "agent/stats/mirror_latency.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace karmad {
namespace {

using namespace std::chrono_literals;

TimePoint period_at(Micros since_epoch) {
  return TimePoint{since_epoch};
}

TEST(PeriodLatency, MeansAClosedBlockOverAllWorkers) {  // HA-027
  PeriodLatency blocks{3, 60s};
  blocks.add(0, period_at(60s), 10ms);
  blocks.add(1, period_at(90s), 20ms);
  blocks.add(2, period_at(119s), 60ms);
  blocks.add(2, period_at(120s), 1s);  // the next block
  EXPECT_EQ(blocks.sum(1, 1).mean(), 30ms);
}

TEST(PeriodLatency, HasNoMeanOfABlockWithoutSamples) {  // HA-021
  PeriodLatency blocks{1, 60s};
  blocks.add(0, period_at(0s), 10ms);
  EXPECT_EQ(blocks.sum(1, 1).mean(), std::nullopt);
  EXPECT_EQ(blocks.running(period_at(180s)).mean(), std::nullopt);
}

TEST(PeriodLatency, RunsOverTheCurrentBlockAndTheOneBefore) {
  PeriodLatency blocks{2, 60s};
  blocks.add(0, period_at(0s), 1s);
  blocks.add(0, period_at(60s), 10ms);
  blocks.add(1, period_at(120s), 20ms);
  EXPECT_EQ(blocks.running(period_at(179s)).mean(), 15ms);
  EXPECT_EQ(blocks.running(period_at(180s)).mean(), 20ms);
}

TEST(PeriodLatency, StillHasTheBlockBeforeTheClosedOneForALateReader) {
  PeriodLatency blocks{1, 60s};
  for (int block = 0; block < 4; ++block) blocks.add(0, period_at(block * 60s), (block + 1) * 1ms);
  EXPECT_EQ(blocks.sum(0, 0).mean(), std::nullopt);
  EXPECT_EQ(blocks.sum(1, 1).mean(), 2ms);
  EXPECT_EQ(blocks.sum(2, 2).mean(), 3ms);
}

TEST(PeriodLatency, NumbersBlocksFromTheEpochOfTheClock) {
  const PeriodLatency blocks{1, 60s};
  EXPECT_EQ(blocks.block_of(period_at(59s)), 0);
  EXPECT_EQ(blocks.block_of(period_at(60s)), 1);
}

}  // namespace
}  // namespace karmad
