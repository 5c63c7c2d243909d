#include "balancer/rules/admission/throughput_probe.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace karmad {
namespace {

using namespace std::chrono_literals;

/// Two pools that always have the sizes the probe wants, and a clock.
struct Probing {
  explicit Probing(const ProbeParameters& parameters, unsigned cores = 1)
      : probe(parameters, cores) {
    run({});
  }

  std::optional<ProbeDecision> run(PoolSizes peaks) {
    now += 100ms;
    const ProbeReadings readings{{probe.status().sizes.reads, peaks.reads, finished},
                                 {probe.status().sizes.writes, peaks.writes, 0}};
    return probe.run(readings, now);
  }
  /// A run in which the tried size brings more throughput, or does not.
  std::optional<ProbeDecision> judged(bool faster) {
    finished += faster ? 1000 : 0;
    return run({});
  }

  ThroughputProbe probe;
  TimePoint now{1s};
  std::uint64_t finished = 0;
};

struct Case {
  std::string_view what;
  ProbeParameters parameters;
  PoolSizes initially;
  PoolSizes peaks;
  ProbeState state;  ///< after the first look
  PoolSizes tried;
  std::optional<bool> faster;
  PoolSizes after;
  double stable;
};

// AC-020 … AC-025.
TEST(ThroughputProbe, DecidesAsTheTableSays) {
  using enum ProbeState;
  const ProbeParameters of64{.initial = 64};
  const ProbeParameters of8{.initial = 8};
  const Case cases[] = {
      {"higher", of64, {32, 32}, {32, 0}, up, {35, 35}, true, {33, 33}, 65.2},
      {"not higher", of64, {32, 32}, {32, 0}, up, {35, 35}, false, {32, 32}, 64},
      {"not exhausted", of64, {32, 32}, {31, 0}, down, {29, 29}, true, {31, 31}, 62.8},
      {"nor better", of64, {32, 32}, {31, 0}, down, {29, 29}, false, {32, 32}, 64},
      {"at the maximum", {.initial = 256}, {128, 128}, {128, 0}, down, {115, 115}, {}, {}, 256},
      {"at the minimum", of8, {4, 4}, {3, 0}, stable, {4, 4}, {}, {}, 8},
      {"big and idle", {.initial = 20}, {10, 10}, {4, 4}, stable, {10, 10}, {}, {}, 20},
      {"one more at least",
       {.initial = 8, .average_weight = 0.3},
       {4, 4},
       {4, 0},
       up,
       {5, 5},
       true,
       {4, 4},
       8.6},
      {"mostly reads",
       {.initial = 16, .read_share = 0.9},
       {14, 4},
       {0, 4},
       up,
       {16, 5},
       {},
       {},
       16},
      {"below the minimum",
       {.initial = 16, .read_share = 0.9},
       {14, 4},
       {13, 0},
       down,
       {13, 3},
       {},
       {},
       16},
      {"mostly writes",
       {.initial = 16, .read_share = 0.1},
       {4, 14},
       {4, 0},
       up,
       {5, 16},
       {},
       {},
       16},
      {"the same", {.initial = 16, .read_share = 0.1}, {4, 14}, {0, 13}, down, {3, 13}, {}, {}, 16},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.what);
    Probing probing(c.parameters);
    EXPECT_EQ(probing.probe.status().sizes, c.initially);
    probing.run(c.peaks);
    EXPECT_EQ(probing.probe.status().state, c.state);
    EXPECT_EQ(probing.probe.status().sizes, c.tried);
    if (c.faster) {
      probing.judged(*c.faster);
      EXPECT_EQ(probing.probe.status().state, stable);
      EXPECT_EQ(probing.probe.status().sizes, c.after);
    }
    EXPECT_DOUBLE_EQ(probing.probe.status().stable_concurrency, c.stable);
  }
}

TEST(ThroughputProbe, GrowsOneByOneWhereTheStepIsLessThanATicket) {
  Probing probing({.initial = 8, .average_weight = 0.3});
  const struct {
    PoolSizes tried;
    PoolSizes after;
    double stable;
  } rounds[] = {{{5, 5}, {4, 4}, 8.6}, {{5, 5}, {5, 5}, 9.02}};
  for (const auto& round : rounds) {
    probing.run({4, 4});
    EXPECT_EQ(probing.probe.status().sizes, round.tried);
    probing.judged(true);
    EXPECT_EQ(probing.probe.status().sizes, round.after);
    EXPECT_NEAR(probing.probe.status().stable_concurrency, round.stable, 1e-9);
  }
}

TEST(ThroughputProbe, TakesAnotherShareFromTheNextStepOn) {
  Probing probing({.initial = 64});
  probing.probe.parameters({.initial = 64, .read_share = 0.67});
  EXPECT_EQ(probing.probe.status().sizes, (PoolSizes{32, 32}));
  probing.run({0, 32});
  EXPECT_EQ(probing.probe.status().sizes, (PoolSizes{47, 23}));
  probing.judged(true);
  EXPECT_EQ(probing.probe.status().sizes, (PoolSizes{44, 22}));
  EXPECT_DOUBLE_EQ(probing.probe.status().stable_concurrency, 65.2);
}

TEST(ThroughputProbe, ClimbsWhileThatBringsMore) {
  Probing probing({.initial = 64});
  const std::uint32_t sizes[] = {35, 33, 36, 33, 37, 34, 37, 35, 38, 35};
  const double stable[] = {64,     65.2,   65.2,    66.56,   66.56,
                           68.048, 68.048, 69.2384, 69.2384, 70.59072};
  std::uint64_t faster = 0;
  for (std::size_t i = 0; i < std::size(sizes); ++i) {
    probing.finished += faster += 10;
    probing.run(probing.probe.status().sizes);
    EXPECT_EQ(probing.probe.status().sizes, (PoolSizes{sizes[i], sizes[i]})) << i;
    EXPECT_NEAR(probing.probe.status().stable_concurrency, stable[i], 1e-9) << i;
  }
}

TEST(ThroughputProbe, CountsWhatItDid) {  // AC-027
  Probing probing({.initial = 64});
  probing.run({32, 0});
  probing.judged(true);
  probing.run({1, 0});  // the last one is better than anything that comes
  probing.run({31, 0});
  probing.judged(true);
  const auto& counters = probing.probe.status().counters;
  EXPECT_EQ(counters.times_probed_stable, 3U);
  EXPECT_EQ(counters.times_probed_up, 1U);
  EXPECT_EQ(counters.times_probed_down, 1U);
  EXPECT_EQ(counters.times_increased, 1U);
  EXPECT_EQ(counters.total_amount_increased, 2U);
  EXPECT_EQ(counters.times_decreased, 1U);
  EXPECT_EQ(counters.total_amount_decreased, 1U);  // from 65.2 to 32/32
}

TEST(ThroughputProbe, DecidesNothingAtItsFirstLookOrWithoutTimeElapsed) {  // AC-021
  ThroughputProbe probe({.initial = 64}, 1);
  const ProbeReadings readings{{32, 32, 1000}, {32, 32, 1000}};
  EXPECT_FALSE(probe.run(readings, TimePoint(1s)));
  EXPECT_FALSE(probe.run(readings, TimePoint(1s)));
  EXPECT_EQ(probe.status().state, ProbeState::stable);
  EXPECT_TRUE(probe.run(readings, TimePoint(2s)));
}

TEST(ThroughputProbe, MeasuresFromTheGivenReadings) {  // AC-026
  ThroughputProbe probe({.initial = 64}, 1);
  probe.run({{32, 0, 0}, {32, 0, 0}}, TimePoint(1s));
  probe.compare_with({{32, 0, 500}, {32, 0, 0}}, TimePoint(6s));
  const auto decision = probe.run({{32, 0, 600}, {32, 0, 100}}, TimePoint(7s));
  EXPECT_DOUBLE_EQ(decision->throughput, 200);
}

TEST(ThroughputProbe, BeginsWithTwiceTheCoresWithinTheLimits) {
  const struct {
    ProbeParameters parameters;
    unsigned cores;
    PoolSizes sizes;
  } cases[] = {
      {{}, 1, {4, 4}},
      {{}, 16, {16, 16}},
      {{}, 1000, {128, 128}},
      {{.initial = 1}, 16, {4, 4}},
      {{.initial = 1000}, 16, {128, 128}},
      {{.writes = false}, 16, {32, 0}},
      {{.reads = false}, 1, {0, 4}},
      {{.initial = 128, .writes = false}, 1, {128, 0}},
  };
  for (const auto& c : cases)
    EXPECT_EQ(ThroughputProbe(c.parameters, c.cores).status().sizes, c.sizes) << c.cores;
}

TEST(ThroughputProbe, LeavesAPoolAloneThatItDoesNotProbe) {
  Probing probing({.initial = 64, .read_share = 0.1, .writes = false});
  probing.run({64, 1000});
  EXPECT_EQ(probing.probe.status().sizes, (PoolSizes{70, 0}));
  probing.judged(true);
  EXPECT_EQ(probing.probe.status().sizes, (PoolSizes{65, 0}));
}

TEST(ThroughputProbe, NeverTakesTheLastTicket) {  // AC-024, OURS
  Probing probing({.initial = 2, .least = 1, .most = 8});
  ProbeReadings readings{{1, 0, 0}, {1, 2, 0}};
  readings.writes.size = 8;  // elsewhere; the read pool has one
  probing.probe.run(readings, probing.now + 1s);
  EXPECT_EQ(probing.probe.status().state, ProbeState::down);
  EXPECT_EQ(probing.probe.status().sizes.reads, 1U);
}

TEST(ThroughputProbe, DescribesItsDecisions) {
  Probing probing({.initial = 64});
  EXPECT_EQ(text(*probing.run({32, 0})), "0 answers/s with 32/32, now probing 35/35");
  EXPECT_EQ(text(*probing.judged(true)), "10000 answers/s with 35/35: better than 0/s, now 33/33");
  EXPECT_EQ(text(*probing.run({1, 1})), "0 answers/s with 33/33: no probe is possible");
}

}  // namespace
}  // namespace karmad
