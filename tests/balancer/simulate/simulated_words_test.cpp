// What an operator is told of mirrors, on the virtual clock, with the rules of the server.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "balancer/simulate/engine/simulation.hpp"

namespace karmad::simulate {
namespace {

using namespace std::chrono_literals;

std::vector<MirrorNews> news_of(const std::string& text, const char* strategy) {
  const auto scenario = parse_scenario(text, "test.scn", "test");
  EXPECT_TRUE(scenario);
  const auto result = run(*scenario, strategy, 1);
  EXPECT_TRUE(result);
  return result->news;
}

bool is_trouble(const MirrorNews& news) {
  return news.state != "ready" && news.state != "starting" && news.state != "full";
}

struct SimulatedTrouble {
  const char* profile;
  const char* change;
  const char* back;
  std::vector<std::string> states;
  const char* said;
};

// The second of three mirrors is in trouble from second 10 to 130.
void expect_told(const SimulatedTrouble& trouble, const char* strategy, double rate,
                 Micros within) {
  const auto where = fmt::format("{} {} {}/s", trouble.change, strategy, rate);
  const auto news = news_of(fmt::format("mirrors 3\nrate {}\nduration 200\nwarmup 20\nprofile {}\n"
                                        "at 10 m2 {}\nat 130 m2 {}\n",
                                        rate, trouble.profile, trouble.change, trouble.back),
                            strategy);
  ASSERT_FALSE(news.empty()) << where;
  for (const auto& each : news) {
    EXPECT_EQ(each.mirror, 2U) << where << ": a healthy mirror is accused: " << each.reason;
    EXPECT_GE(each.at, 10s) << where;
  }
  const auto& first = news.front();
  EXPECT_NE(std::ranges::find(trouble.states, first.state), trouble.states.end())
      << where << ": " << first.state;
  EXPECT_LE(first.at - 10s, within) << where;
  EXPECT_TRUE(first.reason.contains(trouble.said)) << where << ": " << first.reason;
  EXPECT_EQ(news.back().state, "ready") << where;
  EXPECT_LE(news.size(), 5U) << where << ": a change a minute";
}

TEST(SimulatedWords, TellThatAllSearchesFailWhileThePingsAreAnswered) {
  const SimulatedTrouble trouble{
      "svc=exp:5 k=64", "err=1", "err=0", {"failing", "dead"}, " failed: answered with status 500"};
  for (const auto* strategy : {"random", "roundrobin", "nodeads", "leastops", "adaptive", "ars"}) {
    expect_told(trouble, strategy, 10, 16s);
    expect_told(trouble, strategy, 60, 10s);
    expect_told(trouble, strategy, 800, 6s);
  }
}

TEST(SimulatedWords, TellThatAMirrorRefusesConnections) {
  const SimulatedTrouble trouble{
      "svc=exp:5 k=64", "mode=refuse", "mode=ok", {"dead"}, "Connection re"};
  for (const auto* strategy : {"random", "nodeads", "adaptive"})
    for (const double rate : {1, 60, 800}) expect_told(trouble, strategy, rate, 3s);
}

TEST(SimulatedWords, TellThatAMirrorIsSlow) {
  const SimulatedTrouble slower{"svc=exp:5 k=64",
                                "slow=3",
                                "slow=1",
                                {"slow"},
                                " ms on average, those of the other mirrors "};
  for (const auto* strategy : {"random", "roundrobin", "leastops", "nodeads"})
    expect_told(slower, strategy, 60, 10s);
  const SimulatedTrouble much{"svc=fixed:0.3",
                              "svc=fixed:60",
                              "svc=fixed:0.3",
                              {"slow"},
                              " ms on average, those of the other mirrors 0.5 ms"};
  for (const auto* strategy : {"random", "leastops"})
    for (const double rate : {10, 60, 800}) expect_told(much, strategy, rate, 6s);
}

TEST(SimulatedWords, SayNothingOfHealthyMirrors) {
  for (const auto* service :
       {"none", "fixed:5", "exp:5", "exp:50", "lognormal:5:0.5", "lognormal:5:1", "two:5:200:0.03",
        "two:5:200:0.3", "two:0.3:60:0.01"})
    for (const auto* strategy : {"random", "roundrobin", "noerrors", "leastops", "adaptive"})
      for (const int rate : {10, 60, 300}) {
        const auto news =
            news_of(fmt::format("mirrors 3\nrate {}\nduration {}\nwarmup 5\nprofile svc={}\n", rate,
                                rate > 100 ? 60 : 200, service),
                    strategy);
        EXPECT_TRUE(std::ranges::none_of(news, is_trouble))
            << service << ' ' << strategy << ' ' << rate << ": " << news.front().reason;
      }
}

}  // namespace
}  // namespace karmad::simulate
