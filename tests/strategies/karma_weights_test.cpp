#include "strategies/estimates/karma_weights.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "tests/strategies/builders.hpp"

namespace karmad {
namespace {

using namespace std::chrono_literals;
using testing::Means;
using Weights = std::vector<double>;

const KarmaRules kCompound{.compound = true};
const KarmaRules kMemoryless{};

Weights after(Weights weights, const Means& means, const KarmaRules& rules = kCompound) {
  next_weights(weights, means, rules);
  return weights;
}

/// Vectors are written with six decimals.
void expect_near(const Weights& weights, const Weights& expected, double tolerance = 0.5e-6) {
  ASSERT_EQ(weights.size(), expected.size());
  for (std::size_t i = 0; i < weights.size(); ++i)
    EXPECT_NEAR(weights[i], expected[i], tolerance) << "mirror " << i;
}

double sum_of(const Weights& weights) {
  return std::accumulate(weights.begin(), weights.end(), 0.0);
}

// HA-006
TEST(NextWeights, MultiplyTheWeightByTheInverseLatency) {
  const Means means{10ms, 5ms, 30ms, 3ms};
  const auto first = after(Weights(4, 0.25), means);
  expect_near(first, {0.15, 0.30, 0.05, 0.50});
  expect_near(after(first, means), {0.061644, 0.246575, 0.006849, 0.684932});
}

TEST(NextWeights, EqualLatenciesChangeNothing) {
  expect_near(after({0.15, 0.30, 0.05, 0.50}, Means(4, 12ms)), {0.15, 0.30, 0.05, 0.50});
}

// Case 10
TEST(NextWeights, OfMirrorsAt5And20And80MillisecondsCompoundDownToTheFloor) {
  const Means means{5ms, 20ms, 80ms};
  auto weights = Weights(3, 1.0 / 3);
  for (const auto& expected :
       {Weights{0.761905, 0.190476, 0.047619}, Weights{0.937729, 0.058608, 0.003663},
        Weights{0.981343, 0.015333, 0.003323}}) {
    weights = after(weights, means);
    expect_near(weights, expected);
  }
}

TEST(NextWeights, OfMirrorsAt5And20And80MillisecondsStayThereWithoutCompounding) {
  auto weights = Weights(3, 1.0 / 3);
  for (int period = 0; period < 20; ++period) {
    weights = after(weights, {5ms, 20ms, 80ms}, kMemoryless);
    expect_near(weights, {0.761905, 0.190476, 0.047619});
  }
}

// The table of docs/strategies.md.
TEST(NextWeights, OverTenPeriodsAndARecovery) {
  const Means means{5ms, 20ms, 80ms};
  auto compound = Weights(3, 1.0 / 3);
  auto memoryless = compound;
  for (int period = 0; period < 10; ++period) {
    compound = after(compound, means);
    memoryless = after(memoryless, means, kMemoryless);
    expect_near(memoryless, {0.761905, 0.190476, 0.047619});
  }
  expect_near(compound, {0.993399, 0.003300, 0.003300}, 1e-4);
  for (const auto& expected :
       {Weights{0.571429, 0.285714, 0.142857}, Weights{0.453082, 0.320377, 0.226541}}) {
    memoryless = after(memoryless, Means(3, 5ms), kMemoryless);
    expect_near(memoryless, expected);
  }
  for (int period = 0; period < 2; ++period)
    memoryless = after(memoryless, Means(3, 5ms), kMemoryless);
  expect_near(memoryless, Weights(3, 1.0 / 3), 0.1 / 3);
  expect_near(after(compound, Means(3, 5ms)), Weights(3, 1.0 / 3), 0.01);
}

TEST(KarmaFloor, GivesEveryMirrorSomeSearchesInAPeriod) {
  EXPECT_DOUBLE_EQ(with_samples({}, 1'000'000, 4).floor, 0.01);
  EXPECT_DOUBLE_EQ(with_samples({}, 400, 4).floor, 0.04) << "4 of 400 searches";
  EXPECT_DOUBLE_EQ(with_samples({}, 10, 4).floor, 0.1) << "at most";
  EXPECT_DOUBLE_EQ(with_samples({}, 0, 4).floor, 0.01);
}

// HA-028
TEST(NextWeights, WithoutCompoundingGoHalfTheWayInLogarithms) {
  const auto next = after({0.5, 0.25, 0.25}, {10ms, 10ms, 20ms}, kMemoryless);
  EXPECT_NEAR(next[0] / next[1], std::sqrt(2.0), 1e-9);
  EXPECT_NEAR(next[1] / next[2], std::sqrt(2.0), 1e-9);
}

// HA-028
TEST(NextWeights, WithoutCompoundingAStepIsAtMostAFactorOfFour) {
  const auto next = after({0.949, 0.051}, {1s, 1ms}, kMemoryless);
  EXPECT_NEAR(next[1] / next[0], 0.051 * 4 / (0.949 / 4), 1e-9);
}

// HA-028
TEST(NextWeights, OfFixedLatenciesArriveFromAnyWeights) {
  for (const auto& start :
       {Weights{0.9, 0.05, 0.05}, Weights{0.2, 0.4, 0.4}, Weights{0.15, 0.8, 0.05}}) {
    auto weights = start;
    for (int period = 0; period < 5; ++period)
      weights = after(weights, {5ms, 20ms, 80ms}, kMemoryless);
    const Weights target{0.761905, 0.190476, 0.047619};
    for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(weights[i] / target[i], 1, 0.1) << i;
  }
}

/// The mean time at a single server that takes `service` for a search and gets `load` times what it
/// can do; beyond that its queue grows until the searches time out.
Micros queueing(Micros service, double load) {
  const auto mean = load < 1 ? static_cast<double>(service.count()) / (1 - load) : 3e6;
  return Micros{static_cast<std::int64_t>(std::min(mean, 3e6))};
}

/// Weights after each of `periods`, at single servers with these service times that are together
/// used to `load`.
std::vector<Weights> settled(Weights weights, const std::vector<Micros>& services, double load,
                             int periods, const KarmaRules& rules = kMemoryless) {
  double rate = 0;  // of all servers
  for (const auto service : services) rate += 1 / static_cast<double>(service.count());
  std::vector<Weights> all;
  for (int period = 0; period < periods; ++period) {
    Means means;
    for (std::size_t i = 0; i < weights.size(); ++i)
      means.push_back(queueing(
          services[i], load * rate * weights[i] * static_cast<double>(services[i].count())));
    next_weights(weights, means, rules);
    all.push_back(weights);
  }
  return all;
}

// HA-028: latencies that depend on the shares. In an open loop 1/latency of single servers is in
// balance where all are equally used.
TEST(NextWeights, SettleWithinFivePeriodsWhereLatencyDependsOnTheShare) {
  const std::vector<std::vector<Micros>> sets{{4ms, 12ms},
                                              {12ms, 4ms},
                                              {5ms, 5ms},
                                              {4ms, 8ms},
                                              {2ms, 12ms},
                                              {4ms, 20ms},
                                              {4ms, 8ms, 12ms, 20ms},
                                              {4ms, 4ms, 4ms, 12ms}};
  for (const auto load : {0.2, 0.4, 0.66}) {
    for (const auto& services : sets) {
      double rate = 0;
      for (const auto service : services) rate += 1 / static_cast<double>(service.count());
      const auto fresh = Weights(services.size(), 1.0 / static_cast<double>(services.size()));
      auto skewed = fresh;
      skewed[0] *= 0.6;
      for (const auto& start : {fresh, skewed}) {
        const auto all = settled(start, services, load, 40);
        for (std::size_t period = 4; period < all.size(); ++period)
          for (std::size_t i = 0; i < services.size(); ++i)
            EXPECT_NEAR(all[period][i] * rate * static_cast<double>(services[i].count()), 1, 0.1)
                << "load " << load << ", period " << period + 1 << ", mirror " << i << " of "
                << services.size();
      }
    }
  }
}

// The rule of the search server's manual, as it is written: the difference that damping makes.
TEST(NextWeights, SwingWhenCompoundingWhereLatencyDependsOnTheShare) {
  const auto all = settled({0.5, 0.5}, {4ms, 12ms}, 0.66, 40, kCompound);
  double least = 1;
  double most = 0;
  for (std::size_t period = 20; period < all.size(); ++period) {
    least = std::min(least, all[period][0]);
    most = std::max(most, all[period][0]);
  }
  EXPECT_GT(most / least, 1.2);
}

TEST(NextWeights, DependOnTheRatiosOfLatenciesOnly) {
  expect_near(after(Weights(4, 0.25), {10us, 5us, 30us, 3us}), {0.15, 0.30, 0.05, 0.50});
  expect_near(after(Weights(4, 0.25), {1000s, 500s, 3000s, 300s}), {0.15, 0.30, 0.05, 0.50});
}

// HA-020
TEST(NextWeights, NeverFallBelowTheFloor) {
  for (const auto& rules : {kCompound, kMemoryless}) {
    auto weights = Weights(4, 0.25);
    for (int period = 0; period < 1000; ++period) {
      weights = after(weights, {1us, 10ms, 1s, 1000s}, rules);
      // the floor is applied before renormalizing, which takes at most a hundredth of it again
      for (auto weight : weights) ASSERT_GE(weight, 0.01 / 4 / 1.01);
      ASSERT_NEAR(sum_of(weights), 1, 1e-12);
    }
  }
}

TEST(NextWeights, WithoutAFloorTheSlowestFadesAway) {
  auto weights = Weights(2, 0.5);
  for (int period = 0; period < 6; ++period)
    weights = after(weights, {1ms, 10ms}, {.compound = true, .floor = 0});
  EXPECT_LT(weights[1], 1e-5);
}

// HA-021
TEST(NextWeights, DoNotChangeWithoutAMeasuredMirror) {
  const Weights before{0.2, 0.7, 0.1};
  EXPECT_EQ(after(before, Means(3)), before);
  EXPECT_EQ(after(before, Means(3), kMemoryless), before);
}

TEST(NextWeights, AnUnmeasuredMirrorKeepsItsShareAndTheOthersDivideTheirs) {
  expect_near(after({0.4, 0.3, 0.3}, {10ms, std::nullopt, 30ms}), {0.56, 0.3, 0.14});
  // The geometric means of 0.4 and 0.525, and of 0.3 and 0.175, scaled to their share of 0.7.
  expect_near(after({0.4, 0.3, 0.3}, {10ms, std::nullopt, 30ms}, kMemoryless),
              {0.466667, 0.3, 0.233333}, 0.01);
  expect_near(after({0.35, 0.3, 0.35}, {10ms, std::nullopt, 30ms}, kMemoryless),
              {0.525, 0.3, 0.175});
}

TEST(NextWeights, AnUnmeasuredMirrorKeepsItsShareForEverAndHoweverTheOthersFare) {
  for (const auto& rules : {kCompound, kMemoryless}) {
    auto weights = Weights{0.25, 0.25, 0.5};
    for (int period = 0; period < 100; ++period) weights = after(weights, {1ms, 10s, {}}, rules);
    EXPECT_NEAR(weights[2], 0.5, 1e-12);
    EXPECT_NEAR(sum_of(weights), 1, 1e-12);
  }
}

TEST(NextWeights, TheOnlyMeasuredMirrorKeepsItsWeight) {
  expect_near(after({0.2, 0.8}, {3s, std::nullopt}), {0.2, 0.8});
  expect_near(after({0.2, 0.8}, {3s, std::nullopt}, kMemoryless), {0.2, 0.8});
}

TEST(NextWeights, ALatencyOfZeroCountsAsOneMicrosecond) {
  expect_near(after({0.5, 0.5}, {0us, 3us}), {0.75, 0.25});
  expect_near(after({0.5, 0.5}, {0us, 1us}), {0.5, 0.5});
}

TEST(NextWeights, TakeWeightsAtAnyScale) {
  expect_near(after({25, 25, 25, 25}, {10ms, 5ms, 30ms, 3ms}), {0.15, 0.30, 0.05, 0.50});
}

TEST(NextWeights, OfWhatIsNoWeightStartFromAnEvenShare) {
  for (const auto none : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    expect_near(after(Weights(4, none), {10ms, 5ms, 30ms, 3ms}), {0.15, 0.30, 0.05, 0.50});
    expect_near(after({none, 0.5}, {1ms, 1ms}), {0.5, 0.5});
  }
}

TEST(NextWeights, OfASetOfOneOrNoneAreNothingToWorryAbout) {
  expect_near(after({1}, {5ms}), {1});
  EXPECT_TRUE(after({}, {}).empty());
}

TEST(NextWeights, DoNotDependOnTheOrderOfTheMirrors) {
  const auto weights = after({0.1, 0.2, 0.7}, {9ms, {}, 4ms});
  const auto reversed = after({0.7, 0.2, 0.1}, {4ms, {}, 9ms});
  expect_near(weights, {reversed[2], reversed[1], reversed[0]}, 1e-12);
}

// Memory alone starves no mirror (step 4 in karma_weights.hpp).
TEST(NextWeights, AStarvedMirrorAsFastAsTheOthersStartsOver) {
  expect_near(after({0.4983, 0.4983, 0.0034}, Means(3, 10ms)), Weights(3, 1.0 / 3));
  expect_near(after({0.66, 0.33, 0.01}, {10ms, 10ms, 10ms}),
              {0.66 / 1.485, 0.33 / 1.485, 0.495 / 1.485});
}

TEST(NextWeights, AStarvedMirrorMayBeTwiceAsSlowAsTheOthersButNotMore) {
  EXPECT_NEAR(after({0.99, 0.01}, {10ms, 20ms})[1], 1.0 / 3, 1e-9);
  EXPECT_LT(after({0.99, 0.01}, {10ms, 21ms})[1], 0.01);
}

TEST(NextWeights, ATenthOfAnEvenShareIsNotStarved) {
  expect_near(after({0.95, 0.05}, Means(2, 10ms)), {0.95, 0.05});
  expect_near(after({0.951, 0.049}, Means(2, 10ms)), {0.5, 0.5});
}

TEST(FailureFloor, IsTheUpperMedianOfTheMeans) {
  struct Case {
    Means means;
    Micros floor;
  };
  for (const auto& [means, floor] :
       {Case{{}, 0us}, Case{{std::nullopt, std::nullopt}, 0us}, Case{{7ms}, 7ms},
        Case{{5ms, 20ms}, 20ms}, Case{{80ms, 5ms, 20ms}, 20ms},
        Case{{80ms, std::nullopt, 5ms}, 80ms}, Case{{4ms, 1ms, 3ms, 2ms}, 3ms},
        Case{Means(64, 9ms), 9ms}})
    EXPECT_EQ(failure_floor(means), floor);
}

}  // namespace
}  // namespace karmad
