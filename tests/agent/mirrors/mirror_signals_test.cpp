#include "agent/mirrors/mirror_signals.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace karmad {
namespace {

using namespace std::chrono_literals;

class Signals : public ::testing::Test {
 protected:
  MirrorView view(float typical = 0) const {
    MirrorView view;
    signals.show(view, typical);
    return view;
  }
  void refresh(Micros time, MirrorSignals::Refresh with = {}) {
    now += time;
    with.now = now;
    with.since_last = time;
    signals.refresh(with, rules);
  }

  TimePoint now{1000s};
  MirrorSignals signals;
  SlowStartRules rules{.duration = 10s};
};

TEST_F(Signals, AnUnknownMirrorIsLikeTheMedianOfItsSet) {
  EXPECT_EQ(view(7000).latency, 7000);
  EXPECT_EQ(view(0).latency, 1) << "nothing is known of the set";
}

TEST_F(Signals, TheFirstAnswerIsTheEstimate) {
  signals.answered(now, 8ms);
  EXPECT_EQ(view(7000).latency, 8000);
}

TEST_F(Signals, WithoutSamplesTheEstimateApproachesTheMedian) {
  signals.answered(now, 50ms);
  refresh(100ms, {.typical = 5000});
  EXPECT_NEAR(view().latency, 50'000, 1) << "the sample is not older than the last refresh";
  for (int i = 0; i < 20; ++i) refresh(100ms, {.typical = 5000});
  EXPECT_LT(view().latency, 19'000) << "half way after 1.2 s";
  EXPECT_GT(view().latency, 10'000);
}

TEST_F(Signals, OnlyOneSearchTakesAForgottenMirrorForATypicalOne) {
  signals.answered(now, 50ms);
  for (int i = 0; i < 600; ++i) refresh(100ms, {.typical = 5000});
  EXPECT_LT(view().latency, 6000);
  ++signals.in_flight_count();
  EXPECT_EQ(view().latency, 50'000) << "until it is answered, the last samples count";
  --signals.in_flight_count();
  EXPECT_LT(view().latency, 6000);
  signals.cut_off(now, 20ms);
  EXPECT_EQ(view().latency, 50'000) << "it is not typical, as it would have taken longer";
  for (int i = 0; i < 600; ++i) refresh(100ms, {.typical = 5000});
  EXPECT_LT(view().latency, 6000);
  signals.answered(now, 5ms);
  ++signals.in_flight_count();
  EXPECT_LT(view().latency, 6000) << "it is fast again";
}

TEST_F(Signals, AMirrorIsKnownAgainWhenItsAnswersAgree) {
  signals.answered(now, 50ms);
  for (int i = 0; i < 20; ++i) refresh(100ms, {.typical = 5000});
  signals.answered(now, 5ms);
  EXPECT_LT(view().latency, 12'000) << "for the next one that tries it";
  ++signals.in_flight_count();
  EXPECT_GT(view().latency, 15'000) << "one good answer may be chance";
  for (int i = 0; i < 50; ++i) signals.answered(now += 5ms, 5ms);
  EXPECT_LT(view().latency, 11'000);
  signals.answered(now, 300ms);
  EXPECT_GT(view().latency, 15'000);
}

TEST_F(Signals, ASearchThatWasCutOffOnlyRaisesTheEstimate) {
  signals.answered(now, 8ms);
  signals.cut_off(now, 2ms);
  EXPECT_EQ(view().latency, 8000);
  signals.cut_off(now, 80ms);
  EXPECT_GT(view().latency, 8000);
}

TEST_F(Signals, AFailureCostsAtLeastThe90PercentQuantileOfTheSet) {
  refresh(100ms, {.failure_cost = 11'500});
  signals.failed(100us, false);
  EXPECT_EQ(view().penalty, 11'500);
  signals.failed(3s, false);
  EXPECT_EQ(view().penalty, 3'011'500) << "a timeout costs its time";
}

TEST_F(Signals, AReportOfOverloadCostsMore) {
  refresh(100ms, {.failure_cost = 10'000});
  signals.failed(100us, true);
  EXPECT_EQ(view().penalty, 40'000);
}

TEST_F(Signals, AnswersAndTimeReduceThePenalty) {
  refresh(100ms, {.failure_cost = 10'000});
  signals.failed(100us, false);
  signals.answered(now, 5ms);
  EXPECT_EQ(view().penalty, 9000);
  refresh(2s);
  EXPECT_NEAR(view().penalty, 4500, 1);
  for (int i = 0; i < 100; ++i) signals.answered(now, 5ms);
  EXPECT_EQ(view().penalty, 0);
}

TEST_F(Signals, FailuresInARowEndWithAnAnswer) {
  signals.failed(1ms, false);
  signals.failed(1ms, false);
  EXPECT_EQ(signals.failures_in_a_row(), 2U);
  signals.answered(now, 1ms);
  EXPECT_EQ(signals.failures_in_a_row(), 0U);
}

TEST_F(Signals, AReportedLoadExpires) {
  signals.reported_load(now, 0.7);
  EXPECT_FLOAT_EQ(view().load, 0.7F);
  signals.reported_load(now, -3);
  EXPECT_FLOAT_EQ(view().load, 0.7F);
  refresh(9s);
  EXPECT_FLOAT_EQ(view().load, 0.7F);
  refresh(2s);
  EXPECT_EQ(view().load, 0);
}

TEST_F(Signals, SlowStartEndsAfterItsTime) {
  EXPECT_FALSE(signals.starting());
  signals.start(now, rules);
  EXPECT_FLOAT_EQ(signals.started(), 0.1F);
  refresh(5s);
  EXPECT_FLOAT_EQ(signals.started(), 0.5F);
  refresh(5s);
  EXPECT_EQ(signals.started(), 1);
  EXPECT_FALSE(signals.starting());
}

TEST_F(Signals, AStartingMirrorHasFewAttemptsInFlightUntilItHasAnswered) {
  EXPECT_FALSE(signals.at_starting_limit(99, rules));
  signals.start(now, rules);
  EXPECT_FALSE(signals.at_starting_limit(0, rules));
  EXPECT_TRUE(signals.at_starting_limit(1, rules));
  for (int i = 0; i < 3; ++i) signals.answered(now, 1ms);
  EXPECT_FALSE(signals.at_starting_limit(3, rules));
  EXPECT_TRUE(signals.at_starting_limit(4, rules));
  for (int i = 0; i < 40; ++i) signals.answered(now, 1ms);
  EXPECT_FALSE(signals.at_starting_limit(1000, rules)) << "the weight alone limits it";
}

TEST_F(Signals, SlowStartCanBeDisabled) {
  signals.start(now, {});
  EXPECT_FALSE(signals.starting());
  EXPECT_EQ(signals.started(), 1);
}

struct Attempt final : AttemptInFlight {
  explicit Attempt(TimePoint began) : AttemptInFlight(0, began) {}
  void unreachable() override { interrupted = true; }
  bool interrupted = false;
};

TEST(AttemptsInFlightTest, KnowTheOldestOne) {
  AttemptsInFlight attempts;
  std::atomic<std::uint32_t> count{0};
  attempts.count_in(count);
  EXPECT_EQ(attempts.oldest(), 0);
  auto first = std::make_unique<Attempt>(TimePoint{5us});
  Attempt second(TimePoint{9us});
  attempts.add(*first);
  attempts.add(second);
  EXPECT_EQ(attempts.oldest(), 5);
  EXPECT_EQ(count, 2U);
  first.reset();
  EXPECT_EQ(count, 1U);
  EXPECT_EQ(attempts.oldest(), 9);
  attempts.interrupt();
  EXPECT_TRUE(second.interrupted);
  EXPECT_EQ(attempts.oldest(), 9);
}

}  // namespace
}  // namespace karmad
