#include "balancer/simulate/replay/replay.hpp"

#include <gtest/gtest.h>

#include <array>
#include <sstream>

#include "balancer/simulate/engine/simulation.hpp"
#include "balancer/simulate/replay/access_trace.hpp"
#include "balancer/trace/trace_json.hpp"

namespace karmad::simulate {
namespace {

using namespace std::chrono_literals;

struct ReplayedTry {
  std::string_view mirror;
  Micros took{};
  Outcome outcome = Outcome::answered;
  std::uint32_t shard = 1;
  int status = 0;
};

std::string logged_search(std::uint64_t id, Micros at, const std::vector<ReplayedTry>& tries,
                          double sample = 1) {
  constexpr TimePoint kBegan{1s};
  Trace trace;
  trace.id = id;
  trace.began = kBegan;
  trace.operation = "search";
  trace.table = "products";
  Micros start{};
  for (const auto& one : tries) {
    trace.begin({.shard = one.shard, .mirror = one.mirror, .at = kBegan + start})
        .end(kBegan + start + one.took, one.outcome, "", one.status);
    start += one.took;
  }
  Access access{.status = 200};
  access.time = std::chrono::system_clock::time_point(1'700'000'000s) + at;
  access.sample = sample;
  std::string line;
  append_access_json(line, trace, kBegan + start, access);
  return line + "\n";
}

/// 300 searches per second in turn at three mirrors; `c:3` is slow.
std::string log_with_slow_mirror() {
  std::string log;
  constexpr std::array<ReplayedTry, 3> kTries{{{"a:1", 4900us}, {"b:2", 5100us}, {"c:3", 100ms}}};
  for (unsigned i = 0; i < 1800; ++i)
    log += logged_search(i + 1, Micros(i * 1'000'000 / 300), {kTries[i % 3]});
  return log;
}

Scenario scenario_of_log(const std::string& log, const std::vector<std::string>& settings = {}) {
  std::istringstream in(log);
  auto trace = read_access_trace(in);
  EXPECT_TRUE(trace) << trace.error();
  auto replay = make_replay(*std::move(trace), 1);
  EXPECT_TRUE(replay) << replay.error();
  auto scenario =
      with_overrides(replay_scenario("test", *std::move(replay)), {.settings = settings});
  EXPECT_TRUE(scenario);
  return *std::move(scenario);
}

std::vector<Result> replayed(const Scenario& scenario, std::vector<std::string> with) {
  auto results = compare(scenario, with, 1);
  EXPECT_TRUE(results) << (results ? "" : text(results.error()[0]));
  return results.value_or(std::vector<Result>());
}

double share_of_attempts(const Result& result, std::size_t mirror) {
  std::uint64_t there = 0;
  for (const auto& interval : result.intervals) there += interval.mirrors[mirror].attempts;
  return static_cast<double>(there) / static_cast<double>(result.attempts);
}

TEST(Replay, RandomReproducesTheRecordedShareOfSlowSearches) {
  const auto results = replayed(scenario_of_log(log_with_slow_mirror()), {"nodeads", "random"});
  ASSERT_EQ(results.size(), 3U);
  EXPECT_EQ(results.back().strategy, kRecordedName);
  for (const auto& result : results) {
    EXPECT_EQ(result.requests, 1800U) << result.strategy;
    EXPECT_EQ(result.errors, 0U) << result.strategy;
    EXPECT_NEAR(share_of_attempts(result, 2), 1.0 / 3, 0.03) << result.strategy;
    EXPECT_NEAR(static_cast<double>(result.latency.p50.count()), 5000, 300) << result.strategy;
    EXPECT_NEAR(static_cast<double>(result.latency.p90.count()), 100'000, 4000) << result.strategy;
    EXPECT_EQ(result.regret, 0) << result.strategy;
  }
}

TEST(Replay, AdaptiveAvoidsTheSlowMirror) {
  const auto results = replayed(scenario_of_log(log_with_slow_mirror()), {"adaptive"});
  EXPECT_LT(share_of_attempts(results[0], 2), 0.1);
  EXPECT_LT(results[0].latency.p90, 10ms);
}

TEST(Replay, TheSameSeedGivesTheSameBytes) {
  const auto scenario = scenario_of_log(log_with_slow_mirror(), {"hedge = p95"});
  const auto json = [&] {
    return report_json({{scenario, replayed(scenario, {"leastops", "adaptive"})}}, 1);
  };
  const auto first = json();
  EXPECT_EQ(first, json());
  EXPECT_TRUE(first.contains(R"("mirror_names":["a:1","b:2","c:3"])"));
}

TEST(Replay, AsksEachShardOfASearch) {
  std::string log;
  for (unsigned i = 0; i < 100; ++i)
    log +=
        logged_search(i + 1, 10ms * i, {{"a:1", 5ms}, {.mirror = "b:2", .took = 9ms, .shard = 2}});
  for (unsigned i = 0; i < 100; ++i) log += logged_search(i + 200, 10ms * i, {{"a:1", 5ms}});
  const auto scenario = scenario_of_log(log);
  EXPECT_EQ(scenario.set_sizes, (std::vector<unsigned>{1, 1}));
  EXPECT_EQ(scenario.mirror_names, (std::vector<std::string>{"products/1 a:1", "products/2 b:2"}));
  const auto results = replayed(scenario, {"random"});
  EXPECT_EQ(results[0].requests, 300U);
  EXPECT_EQ(results[1].requests, 300U);
  EXPECT_EQ(results[1].latency.longest, 9ms);
  EXPECT_EQ(results[0].latency.longest, 9ms);
}

TEST(Replay, AttemptsFailAsRecorded) {
  std::string log;
  const std::array kEnds{
      Outcome::connect_failed, Outcome::connect_timeout, Outcome::broken,
      Outcome::closed_early,   Outcome::query_timeout,   Outcome::wrong_reply,
      Outcome::unreachable,    Outcome::agent_error,     Outcome::client_mistake};
  for (unsigned i = 0; i < 900; ++i) {
    const auto end = kEnds[i % kEnds.size()];
    const int status = end == Outcome::agent_error ? 503 : end == Outcome::client_mistake ? 400 : 0;
    log += logged_search(i + 1, 1ms * i,
                         {{"a:1", 1ms, end, 1, status}, {"b:2", 2ms, Outcome::answered}});
  }
  const auto results = replayed(scenario_of_log(log), {"random"});
  EXPECT_EQ(results[1].errors, 0U) << "the second attempt was answered";
  EXPECT_EQ(results[1].retries, 900U);
  EXPECT_EQ(results[1].latency.longest, 3ms);
  EXPECT_GT(results[0].errors, 0U) << "timeouts and mistakes of the client are not repeated";
  EXPECT_GT(results[0].retries, 0U);
  EXPECT_GT(results[0].answered, 500U);
}

TEST(Replay, RestoresSearchesThatASampleLeftOut) {
  std::string log;
  for (unsigned i = 0; i < 200; ++i) log += logged_search(i + 1, 10ms * i, {{"a:1", 5ms}}, 0.25);
  const auto results = replayed(scenario_of_log(log), {"random"});
  EXPECT_EQ(results[0].requests, 800U);
  EXPECT_EQ(results[1].requests, 800U);
}

TEST(Replay, LimitsItsSize) {
  std::istringstream days(logged_search(1, 0s, {{"a:1", 5ms}}) +
                          logged_search(2, 24h * 8, {{"a:1", 5ms}}));
  const auto replay = make_replay(*read_access_trace(days), 1);
  ASSERT_FALSE(replay);
  EXPECT_TRUE(replay.error().contains("8.0 days; at most 7")) << replay.error();
}

TEST(Replay, KeepsTheBusiestMirrorsOfALargeSet) {
  std::string log;
  for (unsigned i = 0; i < 70; ++i)
    for (unsigned n = 0; n < (i < 6 ? 1U : 2U); ++n) {
      const auto mirror = "m:" + std::to_string(i + 1);
      log += logged_search(2 * i + n + 1, 1ms * i, {{mirror, 5ms}});
    }
  std::istringstream in(log);
  const auto replay = make_replay(*read_access_trace(in), 1);
  ASSERT_TRUE(replay);
  EXPECT_EQ((*replay)->mirrors.size(), 64U);
  EXPECT_EQ((*replay)->mirrors.front().name, "m:7");
  EXPECT_EQ((*replay)->left_out_mirrors, 6U);
}

}  // namespace
}  // namespace karmad::simulate
