#include "agent/stats/history.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <thread>
#include <vector>

namespace karmad {
namespace {

using namespace std::chrono_literals;

constexpr Micros kPeriod = 60s;

TimePoint at(Micros since_epoch) {
  return TimePoint{since_epoch};
}

Event answered(Micros took) {
  return {.counter = Counter::succeeded_queries, .took = took};
}

std::uint64_t successes(const History& history, unsigned periods, Micros now) {
  return history.over(periods, at(now)).count(Counter::succeeded_queries);
}

TEST(History, CountsElevenRefusedConnectionsAsEleven) {
  History history{1, kPeriod};
  for (int i = 0; i < 11; ++i) history.add(0, at(1s), {.counter = Counter::connect_failures});
  for (const unsigned periods : {1U, 5U, 15U})
    EXPECT_EQ(history.over(periods, at(1s)).count(Counter::connect_failures), 11U) << periods;
  EXPECT_EQ(history.since_start().count(Counter::connect_failures), 11U);
}

// HA-010: what happened at the start of block 1 (second 60) stays
// until second 30 of block 2.
TEST(History, ForgetsABlockWhenTheNextOneIsHalfFull) {
  const struct {
    Micros now;
    std::uint64_t seen;
  } cases[] = {{60s, 1}, {119s, 1}, {120s, 1}, {150s - 1us, 1}, {150s, 0}, {179s, 0}, {180s, 0}};
  History history{1, kPeriod};
  history.add(0, at(60s), answered(1ms));
  for (const auto& c : cases) EXPECT_EQ(successes(history, 1, c.now), c.seen) << c.now.count();
}

TEST(History, AddsOneBlockToAnyNumberOfPeriodsWhileTheCurrentOneIsYoung) {  // HA-010
  History history{1, kPeriod};
  for (int block = 0; block < 20; ++block) history.add(0, at(block * kPeriod), answered(1ms));
  const auto young = 19 * kPeriod + 29s;
  const auto old = 19 * kPeriod + 30s;
  EXPECT_EQ(successes(history, 1, young), 2U);
  EXPECT_EQ(successes(history, 1, old), 1U);
  EXPECT_EQ(successes(history, 5, young), 6U);
  EXPECT_EQ(successes(history, 5, old), 5U);
}

TEST(History, KeepsFifteenBlocksAndWipesASlotWhenItIsUsedAgain) {  // HA-011
  History history{1, kPeriod};
  for (int block = 0; block < 20; ++block) history.add(0, at(block * kPeriod), answered(1ms));
  EXPECT_EQ(successes(history, 15, 19 * kPeriod), 15U);
  EXPECT_EQ(history.since_start().count(Counter::succeeded_queries), 20U);
}

TEST(History, DoesNotShowABlockOfLongAgoInTheSlotOfANewOne) {
  History history{1, kPeriod};
  history.add(0, at(0s), answered(1ms));
  EXPECT_EQ(successes(history, 15, 15 * kPeriod), 0U);
  EXPECT_EQ(successes(history, 15, 30 * kPeriod), 0U);
}

TEST(History, LeavesANewerBlockAloneWhenAnEventComesLate) {
  History history{1, kPeriod};
  history.add(0, at(15 * kPeriod), answered(1ms));
  history.add(0, at(0s), answered(1ms));  // the same slot
  EXPECT_EQ(successes(history, 15, 15 * kPeriod), 1U);
}

TEST(History, CountsPingsAsSuccessesAndErrorsButNeverAsLatency) {  // X-7, HA-025
  History history{1, kPeriod};
  history.add(0, at(0s), answered(4ms));
  history.add(0, at(0s), {.counter = Counter::succeeded_queries, .ping = true, .took = 1ms});
  history.add(0, at(0s), {.counter = Counter::connect_timeouts, .ping = true, .took = 1s});
  const auto totals = history.over(1, at(0s));
  EXPECT_EQ(totals.count(Counter::succeeded_queries), 2U);
  EXPECT_EQ(totals.count(Counter::connect_timeouts), 1U);
  EXPECT_EQ(totals.queries, 1U);
  EXPECT_EQ(mean_query_time(totals), 4ms);
  EXPECT_EQ(history.quantiles(at(0s)).p99, latency_of_bucket(latency_bucket(4ms)));
}

TEST(History, TakesNoLatencyFromFailuresAndWarnings) {
  History history{1, kPeriod};
  history.add(0, at(0s), {.counter = Counter::query_timeouts, .took = 3s});
  history.add(0, at(0s), {.counter = Counter::warnings, .took = 3s});
  EXPECT_EQ(mean_query_time(history.over(1, at(0s))), std::nullopt);
  EXPECT_EQ(history.quantiles(at(0s)).p50, std::nullopt);
}

TEST(History, KeepsTheConnectTimeOfWhatLeavesNoCount) {
  History history{1, kPeriod};
  history.add(0, at(0s), {.counter = Counter::none, .took = 9ms, .connect = 300us});
  history.add(0, at(0s), {.counter = Counter::succeeded_queries, .took = 9ms, .connect = 100us});
  const auto totals = history.over(1, at(0s));
  EXPECT_EQ(totals.connects, 2U);
  EXPECT_EQ(totals.connect_time, 400us);
  EXPECT_EQ(totals.connect_max, 300us);
  std::uint64_t all = 0;
  for (const auto count : totals.counts) all += count;
  EXPECT_EQ(all, 1U);
}

TEST(History, HasNoMeansWithoutSamples) {
  const History history{2, kPeriod};
  EXPECT_EQ(mean_query_time(history.since_start()), std::nullopt);
  EXPECT_EQ(history.since_start().connects, 0U);
  EXPECT_EQ(history.over(15, at(0s)), Totals{});
}

TEST(History, AddsTheWorkersUp) {
  History history{64, kPeriod};
  for (unsigned worker = 0; worker < 64; ++worker) {
    auto event = answered(worker * 1ms);
    event.connect = worker * 1us;
    history.add(worker, at(0s), event);
  }
  const auto totals = history.over(1, at(0s));
  EXPECT_EQ(totals.queries, 64U);
  EXPECT_EQ(totals.query_time, 2016ms);
  EXPECT_EQ(totals.connect_max, 63us);
  EXPECT_EQ(history.since_start(), totals);
}

TEST(History, MeasuresQuantilesOfTheWindowOnly) {
  History history{2, kPeriod};
  for (int i = 0; i < 1000; ++i) history.add(0, at(0s), answered(10s));
  for (int i = 1; i <= 1000; ++i)
    history.add(static_cast<unsigned>(i % 2), at(kPeriod), answered(i * 1ms));
  const auto quantiles = history.quantiles(at(kPeriod + 30s));  // block 0 counts no more
  EXPECT_NEAR(static_cast<double>(quantiles.p50->count()), 500e3, 0.05 * 500e3);
  EXPECT_NEAR(static_cast<double>(quantiles.p95->count()), 950e3, 0.05 * 950e3);
  EXPECT_NEAR(static_cast<double>(quantiles.p99->count()), 990e3, 0.05 * 990e3);
  EXPECT_GT(*history.quantiles(at(kPeriod + 29s)).p99, 9s);  // but did a second earlier
  EXPECT_EQ(history.quantiles(at(3 * kPeriod)).p50, std::nullopt);
}

// HA-023: everything but warnings and successes is critical.
TEST(ErrorSums, TakeTheFirstSevenCountersAsCritical) {
  Totals totals;
  for (std::size_t i = 0; i < kCounters; ++i) totals.counts[i] = std::uint64_t{1} << i;
  EXPECT_EQ(error_sums(totals), (ErrorSums{.successes = 256, .warnings = 128, .critical = 127}));
}

TEST(Tally, KeepsSumsSinceTheStart) {
  Tally tally{2};
  tally.add(0, answered(2ms));
  tally.add(1, answered(4ms));
  tally.add(1, {.counter = Counter::network_errors});
  EXPECT_EQ(tally.totals().count(Counter::network_errors), 1U);
  EXPECT_EQ(mean_query_time(tally.totals()), 3ms);
}

TEST(LatencyHistogram, IsOffByAtMostOneThirtySecond) {
  for (Micros took = 0us; took < 130s; took = took * 21 / 20 + 1us) {
    const auto middle = latency_of_bucket(latency_bucket(took));
    EXPECT_LE(std::abs((middle - took).count()) * 31, took.count()) << took.count();
  }
}

TEST(LatencyHistogram, TakesAnythingFromNegativeToForever) {
  EXPECT_EQ(latency_bucket(-1us), 0U);
  EXPECT_EQ(latency_bucket(Micros::max()), kLatencyBuckets - 1);
  EXPECT_EQ(latency_bucket(Micros{(1 << 27) - 1}), kLatencyBuckets - 1);
}

TEST(LatencyHistogram, FindsTheRankOfAQuantile) {
  std::array<std::uint64_t, kLatencyBuckets> counts{};
  counts[1] = 50;
  counts[2] = 45;
  counts[3] = 5;
  EXPECT_EQ(quantile(counts, 0.5), 1us);
  EXPECT_EQ(quantile(counts, 0.51), 2us);
  EXPECT_EQ(quantile(counts, 0.95), 2us);
  EXPECT_EQ(quantile(counts, 0.99), 3us);
  EXPECT_EQ(quantile(counts, 1.0), 3us);
}

TEST(BlockOf, RoundsDownBeforeTheEpochToo) {
  EXPECT_EQ(block_of(at(59s), kPeriod), 0);
  EXPECT_EQ(block_of(at(60s), kPeriod), 1);
  EXPECT_EQ(block_of(at(-1us), kPeriod), -1);
  EXPECT_EQ(block_of(at(-60s), kPeriod), -1);
}

// The time every worker passes runs on, so that slots are wiped while they are read.
TEST(History, IsReadWhileEveryWorkerWrites) {
  constexpr unsigned kWorkers = 4;
  constexpr int kEvents = 20000;
  History history{kWorkers, 1ms};
  std::vector<std::thread> threads;
  for (unsigned worker = 0; worker < kWorkers; ++worker)
    threads.emplace_back([&history, worker] {
      for (int i = 0; i < kEvents; ++i) {
        auto event = answered(i * 1us);
        event.connect = 5us;
        history.add(worker, at(i * 10us), event);
      }
    });
  std::uint64_t seen = 0;
  while (seen < std::uint64_t{kWorkers} * kEvents) {
    const auto now = history.since_start().count(Counter::succeeded_queries);
    EXPECT_GE(now, seen);
    seen = now;
    EXPECT_LE(history.over(15, at(200ms)).queries, std::uint64_t{kWorkers} * kEvents);
    history.quantiles(at(100ms));
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(history.since_start().queries, std::uint64_t{kWorkers} * kEvents);
  // The last block is 199 (events 19900 to 19999) and at 199.5 ms no longer young.
  EXPECT_EQ(history.over(1, at(199500us)).queries, kWorkers * 100U);
}

}  // namespace
}  // namespace karmad
