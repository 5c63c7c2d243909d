// How the strategies do in the scenarios of the library. A change that makes a story worse fails
// here; one that makes it better should tighten the limits.
#include <gtest/gtest.h>

#include <cctype>
#include <ostream>

#include "balancer/simulate/engine/simulation.hpp"

namespace karmad::simulate {
namespace {

/// What must be true of a result. Limits have about a quarter of room above what was measured.
struct StoryLimits {
  double p99_ms = 0;            ///< at most; the oracle has 23 in most scenarios
  double error_percent = 0;     ///< at most
  double goodput_percent = 99;  ///< of the requests: answers within the scenario's slo, at least
  double extra_percent = 0.1;   ///< hedges and retries per request, at most
  int noticed_ms = -1;          ///< at most; -1: not checked
  int recovered_ms = -1;        ///< likewise
};

struct SimulationStory {
  const char* scenario;
  const char* strategy;
  std::vector<std::string> settings;
  StoryLimits limits;
};

void PrintTo(const SimulationStory& story, std::ostream* out) {
  *out << story.scenario << ' ' << story.strategy;
  for (const auto& setting : story.settings) *out << ", " << setting;
}

const SimulationStory kStories[] = {
    {"homogeneous", "nodeads", {}, {.p99_ms = 26}},
    {"homogeneous", "leastops", {}, {.p99_ms = 26}},
    {"homogeneous", "adaptive", {}, {.p99_ms = 26}},
    {"homogeneous", "prequal", {}, {.p99_ms = 26}},
    {"homogeneous", "ars", {}, {.p99_ms = 26}},
    {"slow10", "leastops", {}, {.p99_ms = 60, .noticed_ms = 200, .recovered_ms = 600}},
    {"slow10",
     "leastops",
     {"hedge = p95"},
     {.p99_ms = 55, .extra_percent = 5.2, .noticed_ms = 200, .recovered_ms = 600}},
    {"slow10",
     "nodeads",
     {"outlier = on"},
     {.p99_ms = 1265, .goodput_percent = 97, .extra_percent = 2, .noticed_ms = 1500}},
    {"slow10", "adaptive", {}, {.p99_ms = 30, .noticed_ms = 200, .recovered_ms = 2000}},
    {"slow10", "prequal", {}, {.p99_ms = 30, .noticed_ms = 200, .recovered_ms = 3000}},
    {"slow10", "ars", {}, {.p99_ms = 37, .noticed_ms = 200, .recovered_ms = 800}},
    {"slow3", "leastops", {}, {.p99_ms = 51}},
    {"slow3", "adaptive", {}, {.p99_ms = 37}},
    {"slow3", "prequal", {}, {.p99_ms = 30}},
    {"slow3", "ars", {}, {.p99_ms = 44}},
    {"stall", "leastops", {}, {.p99_ms = 30}},
    {"stall", "adaptive", {}, {.p99_ms = 30}},
    {"stall", "prequal", {}, {.p99_ms = 30}},
    {"stall", "ars", {}, {.p99_ms = 30}},
    {"blackhole",
     "nodeads",
     {},
     {.p99_ms = 1265,
      .error_percent = 0.5,
      .goodput_percent = 97,
      .extra_percent = 2.5,
      .noticed_ms = 1400}},
    {"blackhole", "leastops", {}, {.p99_ms = 26, .error_percent = 0.05, .noticed_ms = 200}},
    {"blackhole", "adaptive", {}, {.p99_ms = 26, .error_percent = 0.05, .noticed_ms = 200}},
    {"blackhole", "ars", {}, {.p99_ms = 26, .error_percent = 0.05, .noticed_ms = 200}},
    {"blackhole", "prequal", {}, {.p99_ms = 34, .error_percent = 0.08, .noticed_ms = 200}},
    {"die", "nodeads", {}, {.p99_ms = 26, .noticed_ms = 200, .recovered_ms = 1200}},
    {"die", "leastops", {}, {.p99_ms = 26, .noticed_ms = 200, .recovered_ms = 1200}},
    {"die", "adaptive", {}, {.p99_ms = 26, .noticed_ms = 200}},  // slow start takes 10 s
    {"die",
     "adaptive",
     {"slow_start = 0"},
     {.p99_ms = 26, .noticed_ms = 200, .recovered_ms = 1200}},
    {"die", "ars", {}, {.p99_ms = 26, .noticed_ms = 200, .recovered_ms = 1200}},
    {"die", "prequal", {}, {.p99_ms = 32, .noticed_ms = 200, .recovered_ms = 3200}},
    {"die", "prequal", {"slow_start = 0"}, {.p99_ms = 32, .noticed_ms = 200, .recovered_ms = 1200}},
    {"fast500", "nodeads", {}, {.p99_ms = 26, .extra_percent = 0.2, .noticed_ms = 200}},
    {"fast500", "leastops", {}, {.p99_ms = 26, .extra_percent = 0.2, .noticed_ms = 200}},
    {"fast500", "adaptive", {}, {.p99_ms = 26, .extra_percent = 0.2, .noticed_ms = 200}},
    {"fast500", "prequal", {}, {.p99_ms = 26, .extra_percent = 0.2, .noticed_ms = 200}},
    {"fast500", "ars", {}, {.p99_ms = 26, .extra_percent = 0.2, .noticed_ms = 200}},
    {"partial500", "nodeads", {}, {.p99_ms = 26, .extra_percent = 4}},
    {"partial500", "leastops", {}, {.p99_ms = 26, .extra_percent = 6}},
    {"partial500", "adaptive", {}, {.p99_ms = 26, .extra_percent = 0.5, .noticed_ms = 200}},
    {"partial500", "prequal", {}, {.p99_ms = 26, .extra_percent = 0.1, .noticed_ms = 200}},
    {"partial500", "ars", {}, {.p99_ms = 26, .extra_percent = 3.5}},
    {"rst20", "nodeads", {}, {.p99_ms = 26, .extra_percent = 3}},
    {"rst20", "leastops", {}, {.p99_ms = 26, .extra_percent = 3.5}},
    {"rst20", "adaptive", {}, {.p99_ms = 26, .extra_percent = 1.2, .noticed_ms = 200}},
    {"rst20", "prequal", {}, {.p99_ms = 26, .extra_percent = 0.1, .noticed_ms = 200}},
    {"rst20", "ars", {}, {.p99_ms = 26, .extra_percent = 2.6}},
    {"brownout", "nodeads", {}, {.p99_ms = 41, .noticed_ms = 300, .recovered_ms = 1000}},
    {"brownout", "leastops", {}, {.p99_ms = 46, .noticed_ms = 200}},
    {"brownout", "adaptive", {}, {.p99_ms = 32, .noticed_ms = 200, .recovered_ms = 1000}},
    {"brownout", "prequal", {}, {.p99_ms = 30, .noticed_ms = 200, .recovered_ms = 2000}},
    {"brownout", "ars", {}, {.p99_ms = 37, .noticed_ms = 200, .recovered_ms = 800}},
    {"overload",
     "leastops",
     {},
     {.p99_ms = 57, .error_percent = 31, .goodput_percent = 68, .extra_percent = 50}},
    {"overload",
     "adaptive",
     {},
     {.p99_ms = 57, .error_percent = 31, .goodput_percent = 68, .extra_percent = 50}},
    {"overload",
     "prequal",
     {},
     {.p99_ms = 57, .error_percent = 31, .goodput_percent = 68, .extra_percent = 50}},
    {"overload-unbounded",
     "leastops",
     {"search_tickets = 40"},
     {.p99_ms = 60, .error_percent = 32, .goodput_percent = 67}},
    {"overload-unbounded",
     "adaptive",
     {"search_tickets = 40"},
     {.p99_ms = 60, .error_percent = 33, .goodput_percent = 66.5}},
    {"herding", "leastops", {}, {.p99_ms = 69, .noticed_ms = 300}},
    {"herding", "adaptive", {}, {.p99_ms = 30, .noticed_ms = 200, .recovered_ms = 2500}},
    {"herding", "prequal", {}, {.p99_ms = 30, .noticed_ms = 200, .recovered_ms = 2500}},
    {"herding", "ars", {}, {.p99_ms = 30, .noticed_ms = 200, .recovered_ms = 2500}},
    {"cold-return", "leastops", {}, {.p99_ms = 51, .noticed_ms = 200}},
    {"cold-return", "adaptive", {}, {.p99_ms = 30, .noticed_ms = 200}},
    {"cold-return", "prequal", {}, {.p99_ms = 30, .noticed_ms = 200}},
    {"cold-return", "ars", {}, {.p99_ms = 30, .noticed_ms = 200}},
    {"cold-return", "leastops", {"slow_start = 5s"}, {.p99_ms = 37, .noticed_ms = 200}},
    {"grey", "leastops", {}, {.p99_ms = 30, .extra_percent = 0.8}},
    {"grey", "adaptive", {}, {.p99_ms = 30, .extra_percent = 0.5}},
    {"grey", "prequal", {}, {.p99_ms = 30, .extra_percent = 0.1}},
    {"grey", "ars", {}, {.p99_ms = 30, .extra_percent = 0.6}},
    {"slow-zone", "leastops", {}, {.p99_ms = 46, .noticed_ms = 500}},
    {"slow-zone", "adaptive", {}, {.p99_ms = 34, .noticed_ms = 200}},
    {"slow-zone", "prequal", {}, {.p99_ms = 34, .noticed_ms = 300}},
    {"slow-zone", "ars", {}, {.p99_ms = 37, .noticed_ms = 200}},
    {"heterogeneous", "nodeads", {}, {.p99_ms = 34}},
    {"heterogeneous", "leastops", {}, {.p99_ms = 34}},
    {"heterogeneous", "adaptive", {}, {.p99_ms = 32}},
    {"heterogeneous", "prequal", {}, {.p99_ms = 32}},
    {"heterogeneous", "ars", {}, {.p99_ms = 32}},
    {"diurnal", "leastops", {}, {.p99_ms = 26}},
    {"diurnal", "adaptive", {}, {.p99_ms = 26}},
    {"flash-crowd",
     "leastops",
     {},
     {.p99_ms = 81, .error_percent = 11, .goodput_percent = 88, .extra_percent = 20}},
    {"flash-crowd",
     "adaptive",
     {},
     {.p99_ms = 81, .error_percent = 11, .goodput_percent = 88, .extra_percent = 20}},
    {"flash-crowd",
     "prequal",
     {},
     {.p99_ms = 81, .error_percent = 11, .goodput_percent = 88, .extra_percent = 20}},
};

Result run_story(const std::string& scenario, std::string_view strategy,
                 const ScenarioOverrides& overrides, std::uint64_t seed = 1) {
  const auto* const found = library_scenario(scenario);
  EXPECT_NE(found, nullptr) << scenario;
  auto result = run(*with_overrides(*found, overrides), strategy, seed);
  EXPECT_TRUE(result) << (result ? "" : text(result.error()[0]));
  return result.value_or(Result{});
}

class SimulationStories : public ::testing::TestWithParam<SimulationStory> {};

TEST_P(SimulationStories, Holds) {
  const auto& [scenario, strategy, settings, limits] = GetParam();
  const auto result = run_story(scenario, strategy, {.settings = settings});
  const auto requests = static_cast<double>(result.requests);
  const auto duration = library_scenario(scenario)->duration;
  EXPECT_LE(static_cast<double>(result.latency.p99.count()) / 1000, limits.p99_ms);
  EXPECT_LE(100.0 * static_cast<double>(result.errors) / requests, limits.error_percent);
  EXPECT_GE(100.0 * result.goodput * duration / requests, limits.goodput_percent);
  EXPECT_LE(100.0 * result.extra, limits.extra_percent);
  if (limits.noticed_ms >= 0) {
    EXPECT_GE(result.noticed.count(), 0);
    EXPECT_LE(result.noticed.count(), limits.noticed_ms * 1000);
  }
  if (limits.recovered_ms >= 0) {
    EXPECT_GE(result.recovered.count(), 0);
    EXPECT_LE(result.recovered.count(), limits.recovered_ms * 1000);
  }
}

std::string story_name(const ::testing::TestParamInfo<SimulationStory>& info) {
  std::string name = std::string(info.param.scenario) + '_' + info.param.strategy;
  for (const auto& setting : info.param.settings) name += '_' + setting;
  std::erase_if(name,
                [](char c) { return c != '_' && !std::isalnum(static_cast<unsigned char>(c)); });
  return name;
}
INSTANTIATE_TEST_SUITE_P(All, SimulationStories, ::testing::ValuesIn(kStories), story_name);

double p99_ms(const Result& result) {
  return static_cast<double>(result.latency.p99.count()) / 1000;
}

// What the manual promises of `adaptive`.
TEST(SimulationPromises, AdaptiveIsNearTheOracleWithFewAndManyMirrors) {
  for (const unsigned mirrors : {4U, 16U, 64U})
    for (const auto* scenario : {"homogeneous", "slow10", "slow3", "stall", "blackhole", "die",
                                 "brownout", "grey", "cold-return", "heterogeneous"}) {
      const ScenarioOverrides sized{
          .rate = 750.0 * mirrors, .duration = mirrors == 64 ? 4.0 : 11.0, .mirrors = mirrors};
      const auto adaptive = run_story(scenario, "adaptive", sized);
      const auto oracle = run_story(scenario, kOracleName, sized);
      EXPECT_LE(p99_ms(adaptive), 1.3 * p99_ms(oracle)) << scenario << ' ' << mirrors;
    }
}

TEST(SimulationPromises, AHundredMastersDoAboutAsWellAsOne) {
  for (const auto* scenario : {"homogeneous", "slow10", "stall", "herding"}) {
    double one = 0;
    double hundred = 0;
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {  // a quantile is told in steps of 4 %
      one += p99_ms(run_story(scenario, "adaptive", {.masters = 1}, seed));
      hundred += p99_ms(run_story(scenario, "adaptive", {.masters = 100}, seed));
    }
    EXPECT_LE(hundred, 1.2 * one) << scenario;
  }
}

TEST(SimulationPromises, AMirrorThatReturnsColdNeverGetsTwiceItsShare) {
  for (const auto* strategy : {"adaptive", "prequal", "ars"})
    for (const auto& interval : run_story("cold-return", strategy, {}).intervals)
      EXPECT_LE(interval.mirrors[1].share, 2 * 0.25) << strategy;
}

TEST(SimulationPromises, HedgesAtTheQuantileOfTheWellMirrorsCutTheTail) {
  const ScenarioOverrides hedged{.settings = {"hedge = p95", "retry_budget_percent = 5"}};
  for (const auto* scenario : {"homogeneous", "slow10", "slow3", "stall", "brownout"}) {
    const auto result = run_story(scenario, "adaptive", hedged);
    EXPECT_LE(p99_ms(result), 24) << scenario;
    EXPECT_LE(result.latency.p999, std::chrono::milliseconds(38)) << scenario;
    EXPECT_LE(result.extra, 0.06) << scenario;
  }
}

TEST(SimulationOracle, IsNeverWorseThanRandom) {
  for (const auto& scenario : scenario_library()) {
    const ScenarioOverrides shorter{.duration = 5};
    const auto oracle = run_story(scenario.name, kOracleName, shorter);
    const auto random = run_story(scenario.name, "random", shorter);
    EXPECT_LE(oracle.errors, random.errors + random.requests / 500) << scenario.name;
    EXPECT_GE(oracle.goodput, 0.996 * random.goodput) << scenario.name;
    if (oracle.errors == random.errors) {
      EXPECT_LE(oracle.latency.p99, random.latency.p99) << scenario.name;
    }
  }
}

}  // namespace
}  // namespace karmad::simulate
