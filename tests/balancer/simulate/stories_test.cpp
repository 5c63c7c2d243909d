// How the strategies do in the scenarios of the library. A change that makes a story worse fails
// here; one that makes it better should tighten the limits.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "balancer/simulate/engine/simulation.hpp"

namespace karmad {
namespace {

/// What must be true of a result. Limits have about a quarter of room above what was measured.
struct StoryLimits {
  double regret = 1.1;          ///< p99 over the oracle's, at most
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
    {"homogeneous", "nodeads", {}, {}},
    {"homogeneous", "leastops", {}, {}},
    {"slow10", "leastops", {}, {.regret = 2.6, .noticed_ms = 200, .recovered_ms = 600}},
    {"slow10",
     "leastops",
     {"hedge = p95"},
     {.regret = 1.3, .extra_percent = 9, .noticed_ms = 200, .recovered_ms = 600}},
    {"slow3", "leastops", {}, {.regret = 2.2}},
    {"stall", "leastops", {}, {.regret = 1.3}},
    {"blackhole",
     "nodeads",
     {},
     {.regret = 55,
      .error_percent = 0.5,
      .goodput_percent = 97,
      .extra_percent = 2.5,
      .noticed_ms = 1400}},
    {"blackhole", "leastops", {}, {.error_percent = 0.05, .noticed_ms = 200}},
    {"die", "nodeads", {}, {.noticed_ms = 200, .recovered_ms = 1200}},
    {"die", "leastops", {}, {.noticed_ms = 200, .recovered_ms = 1200}},
    {"fast500", "nodeads", {}, {.extra_percent = 0.2, .noticed_ms = 200}},
    {"fast500", "leastops", {}, {.extra_percent = 0.2, .noticed_ms = 200}},
    {"partial500", "nodeads", {}, {.extra_percent = 4}},
    {"partial500", "leastops", {}, {.extra_percent = 6}},
    {"rst20", "nodeads", {}, {.extra_percent = 3}},
    {"rst20", "leastops", {}, {.extra_percent = 3.5}},
    {"brownout", "nodeads", {}, {.regret = 1.8, .noticed_ms = 300, .recovered_ms = 1000}},
    {"brownout", "leastops", {}, {.regret = 2, .noticed_ms = 200}},
    {"overload",
     "leastops",
     {},
     {.regret = 1.3, .error_percent = 31, .goodput_percent = 68, .extra_percent = 45}},
    {"overload-unbounded",
     "leastops",
     {"search_tickets = 40"},
     {.regret = 1, .error_percent = 32, .goodput_percent = 67}},
    {"herding", "leastops", {}, {.regret = 3, .noticed_ms = 300}},
    {"cold-return", "leastops", {}, {.regret = 2.2, .noticed_ms = 200}},
    {"grey", "leastops", {}, {.regret = 1.3, .extra_percent = 0.8}},
    {"slow-zone", "leastops", {}, {.regret = 2, .noticed_ms = 500}},
    {"heterogeneous", "nodeads", {}, {.regret = 1.5}},
    {"heterogeneous", "leastops", {}, {.regret = 1.5}},
    {"diurnal", "leastops", {}, {}},
    {"flash-crowd",
     "leastops",
     {},
     {.regret = 1.2, .error_percent = 11, .goodput_percent = 88, .extra_percent = 15}},
};

SimulationResult run_story(const std::string& scenario, std::string_view strategy,
                           const std::vector<std::string>& settings) {
  const auto* const found = library_scenario(scenario);
  EXPECT_NE(found, nullptr) << scenario;
  auto result = simulate(*with_overrides(*found, {.settings = settings}), strategy, 1);
  EXPECT_TRUE(result) << (result ? "" : text(result.error()[0]));
  return result.value_or(SimulationResult{});
}

/// Several stories have the same scenario.
const SimulationResult& oracle_of(const std::string& scenario) {
  static std::map<std::string, SimulationResult> results;
  const auto found = results.find(scenario);
  if (found != results.end()) return found->second;
  return results.emplace(scenario, run_story(scenario, kOracleName, {})).first->second;
}

class SimulationStories : public ::testing::TestWithParam<SimulationStory> {};

TEST_P(SimulationStories, Holds) {
  const auto& [scenario, strategy, settings, limits] = GetParam();
  const auto result = run_story(scenario, strategy, settings);
  const auto& oracle = oracle_of(scenario);
  const auto requests = static_cast<double>(result.requests);
  const auto duration = library_scenario(scenario)->duration;
  EXPECT_LE(static_cast<double>(result.latency.p99.count()) /
                static_cast<double>(oracle.latency.p99.count()),
            limits.regret);
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

TEST(SimulationOracle, IsNeverWorseThanRandom) {
  for (const auto& scenario : scenario_library()) {
    const auto& oracle = oracle_of(scenario.name);
    const auto random = run_story(scenario.name, "random", {});
    EXPECT_LE(oracle.errors, random.errors + random.requests / 1000) << scenario.name;
    EXPECT_GE(oracle.goodput, 0.999 * random.goodput) << scenario.name;
    if (oracle.errors == random.errors) {
      EXPECT_LE(oracle.latency.p99, random.latency.p99) << scenario.name;
    }
  }
}

}  // namespace
}  // namespace karmad
