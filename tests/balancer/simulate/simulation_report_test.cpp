#include "balancer/simulate/engine/simulation.hpp"

#include <gtest/gtest.h>
#include <rapidjson/document.h>

namespace karmad::simulate {
namespace {

using namespace std::chrono_literals;

Report report_of_two() {
  Report report;
  report.scenario.name = "s";
  report.scenario.about = "a \"test\"";
  report.scenario.changes.push_back({{}, 3s, "m2 slow=10"});
  Result result{.scenario = "s",
                .strategy = "leastops",
                .requests = 2000,
                .answered = 1999,
                .errors = 1,
                .attempts = 2100,
                .hedges = 100};
  result.latency = {.p50 = 3500us, .p90 = 11ms, .p99 = 23ms, .p999 = 1200ms, .longest = 2s};
  result.goodput = 1990;
  result.skew = 1.25;
  result.extra = 0.05;
  result.noticed = 85ms;
  result.regret = 2;
  result.intervals.push_back({.requests = 7, .mirrors = {{.attempts = 4, .share = 0.5}}});
  report.results = {result, result};
  report.results[1].strategy = "oracle";
  report.results[1].noticed = Micros{-1};
  return report;
}

TEST(Report, TheTableIsAligned) {
  EXPECT_EQ(report_table(report_of_two(), 7),
            "s: a \"test\"\n"
            "4 mirrors, 1 master, 3000 requests/s, 12 s, seed 7; times in ms\n\n"
            "strategy  p50   p90   p99  p99.9  errors  goodput/s  skew  extra  noticed  recovered  "
            "regret\n"
            "leastops  3.5  11.0  23.0   1200  0.050%       1990  1.25   5.0%     85.0          -  "
            "  2.00\n"
            "oracle    3.5  11.0  23.0   1200  0.050%       1990  1.25   5.0%        -          -  "
            "  2.00\n");
}

TEST(Report, TheJsonHasEverything) {
  rapidjson::Document json;
  json.Parse(report_json({report_of_two()}, 7));
  ASSERT_FALSE(json.HasParseError());
  EXPECT_EQ(json["seed"].GetUint(), 7U);
  const auto& scenario = json["scenarios"][0];
  EXPECT_STREQ(scenario["about"].GetString(), "a \"test\"");
  EXPECT_EQ(scenario["changes"][0]["at_ms"].GetDouble(), 3000);
  const auto& result = scenario["results"][0];
  EXPECT_EQ(result["requests"].GetDouble(), 2000);
  EXPECT_EQ(result["p999_ms"].GetDouble(), 1200);
  EXPECT_EQ(result["noticed_ms"].GetDouble(), 85);
  EXPECT_TRUE(result["recovered_ms"].IsNull());
  EXPECT_EQ(result["intervals"][0]["requests"].GetUint(), 7U);
  EXPECT_EQ(result["intervals"][0]["mirrors"][0]["share"].GetDouble(), 0.5);
}

TEST(Report, TheCsvHasOneLineForEachResult) {
  EXPECT_EQ(report_csv({report_of_two()}),
            "scenario,strategy,requests,answered,errors,attempts,hedges,retries,p50_ms,p90_ms,"
            "p99_ms,p999_ms,longest_ms,goodput,skew,extra,regret,noticed_ms,recovered_ms\n"
            "s,leastops,2000,1999,1,2100,100,0,3.5,11,23,1200,2000,1990,1.25,0.05,2,85,\n"
            "s,oracle,2000,1999,1,2100,100,0,3.5,11,23,1200,2000,1990,1.25,0.05,2,,\n");
}

}  // namespace
}  // namespace karmad::simulate
