#include "balancer/simulate/engine/simulation.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>

#include "tests/support/counted_allocations.hpp"

namespace karmad::simulate {
namespace {

using namespace std::chrono_literals;

Scenario scenario_of(std::string_view text) {
  auto scenario = parse_scenario(text, "test.scn", "test");
  EXPECT_TRUE(scenario);
  return scenario.value_or(Scenario{});
}

Result result_of(const Scenario& scenario, std::string_view strategy, std::uint64_t seed = 1) {
  auto result = run(scenario, strategy, seed);
  EXPECT_TRUE(result) << (result ? "" : text(result.error()[0]));
  return result.value_or(Result{});
}

double ms_of(Micros time) {
  return static_cast<double>(time.count()) / 1000;
}

TEST(Simulation, TheSameSeedGivesTheSameBytes) {
  const auto scenario = with_overrides(*library_scenario("brownout"), {.duration = 4});
  const std::vector<std::string> strategies{"nodeads", "leastops"};
  const auto json = [&](std::uint64_t seed) {
    auto results = compare(*scenario, strategies, seed);
    EXPECT_TRUE(results);
    return report_json({{*scenario, *results}}, seed);
  };
  const auto first = json(7);
  EXPECT_EQ(first, json(7));
  EXPECT_NE(first, json(8));
}

TEST(Simulation, TheLoadDoesNotDependOnTheStrategy) {
  const auto scenario = scenario_of("duration 2\nprofile svc=exp:5 k=8\n");
  const auto first = result_of(scenario, "random");
  for (const auto strategy : {"leastops", "roundrobin", "oracle"})
    EXPECT_EQ(result_of(scenario, strategy).requests, first.requests) << strategy;
}

/// The time in an M/M/1 system has an exponential distribution with the mean 1/(service - load).
TEST(Simulation, AgreesWithTheFormulaForOneServer) {
  const auto scenario = scenario_of(
      "mirrors 1\nrate 70\nduration 2000\nwarmup 20\ntimeout 100000\n"
      "set request_timeout = 100s\nset agent_query_timeout = 100s\nset agent_max_connections = 0\n"
      "profile svc=exp:10 k=1 net=0\n");
  const auto result = result_of(scenario, "random");
  const auto quantile_ms = [](double q) { return -1000 * std::log(1 - q) / (100 - 70); };
  EXPECT_EQ(result.errors, 0U);
  EXPECT_NEAR(static_cast<double>(result.requests), 140'000, 1500);
  EXPECT_NEAR(ms_of(result.latency.p50), quantile_ms(0.5), 0.06 * quantile_ms(0.5));
  EXPECT_NEAR(ms_of(result.latency.p90), quantile_ms(0.9), 0.06 * quantile_ms(0.9));
  EXPECT_NEAR(ms_of(result.latency.p99), quantile_ms(0.99), 0.1 * quantile_ms(0.99));
}

/// Erlang's C formula: the part of the requests that wait.
double part_that_waits(unsigned servers, double load) {
  double sum = 0;
  double term = 1;
  for (unsigned i = 0; i < servers; ++i) {
    sum += term;
    term *= load / (i + 1);
  }
  const auto waiting = term * servers / (servers - load);
  return waiting / (sum + waiting);
}

TEST(Simulation, AgreesWithErlangForSeveralServers) {
  constexpr unsigned kServers = 8;
  const auto scenario = scenario_of(
      "mirrors 1\nrate 1360\nduration 200\nwarmup 5\n"
      "set agent_max_connections = 0\nprofile svc=fixed:0.001 k=8 net=0\n"
      "mirror m1 svc=exp:5\n");
  const auto result = result_of(scenario, "random");
  const auto waits = part_that_waits(kServers, 6.8);
  // P(time > t) of an M/M/k system, with rates per ms.
  const auto longer = [&](double t) {
    const auto service = 0.2;
    const auto queue = kServers * service - 1.36;
    return (1 - waits) * std::exp(-service * t) +
           waits * (queue * std::exp(-service * t) - service * std::exp(-queue * t)) /
               (queue - service);
  };
  EXPECT_NEAR(longer(ms_of(result.latency.p50)), 0.5, 0.025);
  EXPECT_NEAR(longer(ms_of(result.latency.p90)), 0.1, 0.01);
  EXPECT_NEAR(longer(ms_of(result.latency.p99)), 0.01, 0.002);
}

TEST(Simulation, AnUnloadedMirrorTakesItsServiceTimeAndTheNetwork) {
  const auto result = result_of(
      scenario_of("mirrors 3\nrate 10\nduration 20\nprofile svc=fixed:7 k=8 net=0.5\n"), "random");
  EXPECT_NEAR(ms_of(result.latency.p50), 8, 0.26);
  EXPECT_EQ(result.latency.longest, 8ms);
}

TEST(Simulation, AColdCacheBecomesWarm) {
  const auto result = result_of(scenario_of("mirrors 1\nrate 100\nduration 20\nwarmup 0\n"
                                            "profile svc=fixed:1 net=0\nat 5 m1 cold=11:200\n"),
                                "random");
  const auto longest = [&](std::size_t interval) {
    return ms_of(result.intervals[interval].latency.longest);
  };
  EXPECT_EQ(longest(20), 1);
  EXPECT_NEAR(longest(25), 11, 0.2);  // at 5 s
  EXPECT_NEAR(longest(30), 6, 1);     // half of the 200 requests have come
  EXPECT_EQ(longest(40), 1);
}

TEST(Simulation, TheRateFollowsItsChanges) {
  const auto result =
      result_of(scenario_of("rate 1000\nduration 10\nrate_at 5 4000\n"), "roundrobin");
  std::uint64_t before = 0;
  std::uint64_t after = 0;
  for (std::size_t i = 0; i < result.intervals.size(); ++i)
    (i < 50 ? before : after) += result.intervals[i].requests;
  EXPECT_NEAR(static_cast<double>(before), 5000, 300);
  EXPECT_NEAR(static_cast<double>(after), 20'000, 600);
}

TEST(Simulation, IntervalsAddUpToTheWhole) {
  const auto result = result_of(*library_scenario("partial500"), "nodeads");
  std::uint64_t requests = 0;
  std::uint64_t errors = 0;
  std::uint64_t attempts = 0;
  for (const auto& interval : result.intervals) {
    requests += interval.requests;
    errors += interval.errors;
    double share = 0;
    for (const auto& mirror : interval.mirrors) {
      attempts += mirror.attempts;
      share += mirror.share;
    }
    EXPECT_NEAR(share, 1, 1e-9);
  }
  EXPECT_EQ(result.intervals.size(), 100U);
  EXPECT_EQ(requests, result.requests);
  EXPECT_EQ(errors, result.errors);
  EXPECT_EQ(attempts, result.attempts);
  EXPECT_EQ(result.answered + result.errors, result.requests);
}

TEST(Simulation, SettingsOfTheDaemonHaveTheirEffect) {
  auto scenario = *library_scenario("slow10");
  const auto plain = result_of(scenario, "adaptive");
  EXPECT_EQ(plain.hedges, 0U);
  scenario.settings.push_back({"hedge = p95", {}});
  const auto hedged = result_of(scenario, "adaptive");
  EXPECT_GT(hedged.hedges, 1000U);
  EXPECT_LT(hedged.latency.p99, plain.latency.p99);
}

TEST(Simulation, TicketsPreventTheCollapseOfAnOverload) {
  auto scenario = *with_overrides(*library_scenario("overload-unbounded"), {.duration = 4});
  EXPECT_LT(result_of(scenario, "leastops").goodput, 1500);
  scenario.settings.push_back({"search_tickets = 40", {}});
  EXPECT_GT(result_of(scenario, "leastops").goodput, 5500);
}

TEST(Simulation, AttemptsWaitForSlotsOfFullMirrors) {
  auto scenario = scenario_of(
      "mirrors 2\nrate 100\nduration 10\nprofile svc=fixed:30\n"
      "set max_in_flight = 2\nset max_in_flight_queue = 100\n");
  const auto limited = result_of(scenario, "leastops");
  EXPECT_EQ(limited.errors, 0U);
  EXPECT_GT(limited.latency.p90, 40ms) << "3 of 4 slots are busy on average, so some requests wait";
  for (const auto& interval : limited.intervals)
    for (const auto& mirror : interval.mirrors) EXPECT_LE(mirror.in_flight, 2U);
  scenario.settings.clear();
  EXPECT_LT(result_of(scenario, "leastops").latency.longest, 31ms);
}

TEST(Simulation, AttemptsBeyondTheConnectionsOfAnAgentWait) {
  const auto result =
      result_of(scenario_of("mirrors 1\nrate 100\nduration 10\nprofile svc=fixed:15\n"
                            "set agent_max_connections = 2\n"),
                "random");
  EXPECT_EQ(result.errors, 0U);
  EXPECT_GT(result.latency.p90, 20ms);
}

TEST(Simulation, ProblemsOfSettingsNameTheirPlace) {
  const auto problem = [](std::string_view text_of_scenario, std::string setting = {}) {
    ScenarioOverrides overrides;
    if (!setting.empty()) overrides.settings.push_back(std::move(setting));
    const auto result = run(*with_overrides(scenario_of(text_of_scenario), overrides), "random", 1);
    return result ? std::string("no problem") : text(result.error()[0]);
  };
  EXPECT_EQ(problem("rate 5\nset hegde = p95\n"),
            "test.scn:2:5: unknown key 'hegde'; did you mean 'hedge'?");
  EXPECT_EQ(problem("", "hedge = x").substr(0, 29), "--set 'hedge = x': hedge: 'x'");
  EXPECT_EQ(problem("", "ha_strategy = random"),
            "--set 'ha_strategy = random': give the strategies with --strategy");
  EXPECT_EQ(problem("", "ping_type = solr"),
            "--set 'ping_type = solr': simulated mirrors answer pings of the type http only");
  EXPECT_EQ(problem("", "a"), "--set 'a': expected KEY = VALUE in one line");
  EXPECT_EQ(problem("", "hedge = p95\n}"),
            "--set 'hedge = p95?}': expected KEY = VALUE in one line");
  EXPECT_EQ(problem("set hedge = x\n", "hedge = p95"), "no problem") << "--set replaces the former";
}

TEST(Simulation, UnknownStrategiesAreRefused) {
  const auto result = run(scenario_of(""), "leastop", 1);
  ASSERT_FALSE(result);
  EXPECT_EQ(text(result.error()[0]).substr(0, 59),
            "unknown strategy 'leastop'; did you mean 'leastops'?; known");
}

// Nothing but a search can show that it works again.
TEST(Simulation, WithoutPingsADeadMirrorIsTriedAgain) {
  for (const auto* strategy : {"nodeads", "noerrors", "adaptive"}) {
    const auto result =
        result_of(scenario_of("mirrors 3\nrate 100\nduration 30\nset ha_ping_interval = 0\n"
                              "set ha_period_karma = 1s\nprofile svc=fixed:2\n"
                              "at 1 m2 err=1 errcode=500\nat 5 m2 err=0\n"),
                  strategy);
    EXPECT_GT(result.intervals.back().mirrors[1].share, 0.15) << strategy;
    EXPECT_EQ(result.errors, 0U) << strategy;
  }
}

TEST(Simulation, ARequestAllocatesNothing) {
  const auto allocations_of = [](const char* rate) {
    const auto scenario =
        scenario_of("profile svc=exp:5 k=16\nduration 2\nrate " + std::string(rate) + "\n");
    const auto before = test::allocations();
    result_of(scenario, "leastops");
    return test::allocations() - before;
  };
  // What is left are the rare pings of mirrors without requests, and the first use of memory.
  EXPECT_LT(allocations_of("4000"), allocations_of("2000") + 200);
}

TEST(Simulation, RunsWithAThousandMirrors) {
  const auto scenario = with_overrides(*library_scenario("homogeneous"),
                                       {.rate = 200'000, .duration = 0.2, .mirrors = 1000});
  auto warm = *scenario;
  warm.warmup = 0.2;
  const auto result = result_of(warm, "leastops");
  EXPECT_NEAR(static_cast<double>(result.requests), 40'000, 1000);
  EXPECT_EQ(result.errors, 0U);
  EXPECT_LT(result.latency.p99, 30ms);
  EXPECT_EQ(result.intervals[0].mirrors.size(), 64U);
}

TEST(Simulation, RunsWithAHundredMasters) {
  auto scenario = *with_overrides(*library_scenario("herding"), {.duration = 1, .masters = 100});
  scenario.warmup = 0.2;
  scenario.changes.clear();
  const auto result = result_of(scenario, "leastops");
  EXPECT_EQ(result.errors, 0U);
  EXPECT_LT(result.latency.p99, 40ms);
}

}  // namespace
}  // namespace karmad::simulate
