#include "agent/stats/mirror_latency.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace karmad {
namespace {

using namespace std::chrono_literals;

TimePoint quantiles_at(Micros since_epoch) {
  return TimePoint{since_epoch};
}

/// What a quantile can say of this latency.
Micros about(Micros took) {
  return latency_of_bucket(latency_bucket(took));
}

TEST(LatencyQuantiles, CountsTheAnswersOfAllWorkers) {  // CO-080
  LatencyQuantiles latency{2};
  for (int i = 0; i < 94; ++i) latency.add(i % 2 == 0 ? 0 : 1, quantiles_at(60s), 5ms);
  for (int i = 0; i < 4; ++i) latency.add(0, quantiles_at(61s), 20ms);
  for (int i = 0; i < 2; ++i) latency.add(1, quantiles_at(62s), 200ms);
  EXPECT_EQ(latency.over_recent(quantiles_at(63s)),
            (RecentLatency{.samples = 100, .p95 = about(20ms), .p99 = about(200ms)}));
}

TEST(LatencyQuantiles, IsEmptyWithoutAnswers) {
  const LatencyQuantiles latency{3};
  EXPECT_EQ(latency.over_recent(quantiles_at(60s)), RecentLatency{});
}

TEST(LatencyQuantiles, ForgetsWhatIsOlderThanTwoBlocks) {
  LatencyQuantiles latency{1};
  latency.add(0, quantiles_at(0s), 1s);
  latency.add(0, quantiles_at(30s), 5ms);
  EXPECT_EQ(latency.over_recent(quantiles_at(30s)).samples, 2U);
  EXPECT_EQ(latency.over_recent(quantiles_at(59s)).p99, about(1s));
  EXPECT_EQ(latency.over_recent(quantiles_at(60s)).p99, about(5ms));
  EXPECT_EQ(latency.over_recent(quantiles_at(90s)).samples, 0U);
}

TEST(LatencyQuantiles, IsReadWhileEveryWorkerWrites) {
  constexpr int kAnswers = 20000;
  LatencyQuantiles latency{2};
  PublishedLatency published;
  std::thread workers[2];
  for (unsigned worker = 0; worker < 2; ++worker)
    workers[worker] = std::thread([&latency, worker] {
      for (int i = 0; i < kAnswers; ++i) latency.add(worker, quantiles_at(i * 1ms), 1ms);
    });
  for (int i = 0; i < 200; ++i) {
    published.set(latency.over_recent(quantiles_at(10s)));
    EXPECT_LE(published.get().samples, 2U * kAnswers);
  }
  for (auto& worker : workers) worker.join();
  EXPECT_EQ(latency.over_recent(quantiles_at(20s)).samples, 2U * kAnswers);
}

TEST(PublishedLatency, GivesWhatWasSet) {
  PublishedLatency published;
  EXPECT_EQ(published.get(), RecentLatency{});
  const RecentLatency recent{.samples = 7, .p95 = 0us, .p99 = 3ms};
  published.set(recent);
  EXPECT_EQ(published.get(), recent);
  published.set({});
  EXPECT_EQ(published.get(), RecentLatency{});
}

}  // namespace
}  // namespace karmad
