// The shares that the status shows are those of the next search.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <vector>

#include "tests/support/cluster.hpp"
#include "tests/support/fake_set.hpp"

namespace karmad::test {
namespace {

constexpr std::array kStrategies{"random",   "roundrobin", "nodeads", "noerrors",
                                 "leastops", "adaptive",   "ars"};
constexpr std::string_view kShareQuery = R"({"table":"t","query":{"match_all":{}}})";

std::vector<double> shown_shares(const Master& master, std::size_t mirrors) {
  std::vector<double> shares;
  for (std::size_t i = 0; i < mirrors; ++i)
    shares.push_back(master.number(fmt::format("/tables/0/shards/0/mirrors/{}/probability", i)));
  return shares;
}

double total(const std::vector<double>& shares) {
  return std::accumulate(shares.begin(), shares.end(), 0.0);
}

std::string with_strategy(std::string_view strategy, std::string_view more) {
  return fmt::format("ha_strategy = {}\n {}", strategy, more);
}

/// Searches until the last of three mirrors has share 0.
void expect_last_left_out(const Master& master, std::string_view strategy) {
  EXPECT_TRUE(eventually([&] {
    master.search(kShareQuery);
    return shown_shares(master, 3)[2] == 0;
  })) << strategy;
  const auto shares = shown_shares(master, 3);
  EXPECT_EQ(shares[2], 0) << strategy;
  EXPECT_NEAR(total(shares), 1, 0.001) << strategy;
}

TEST(Shares, OfAKilledMirrorIsZeroWithEveryStrategy) {
  for (const auto* pings : {"ha_ping_interval = 50ms", "ha_ping_interval = 0"})
    for (const auto* strategy : kStrategies) {
      FakeSet mirrors(3);
      const Master master(with_strategy(strategy, pings), mirrors.table());
      for (int i = 0; i < 6; ++i) EXPECT_EQ(master.search(kShareQuery).status, 200);
      mirrors[2].react(always({.then = Reaction::Then::die}));
      expect_last_left_out(master, strategy);
    }
}

// Without any search: the pings show it.
TEST(Shares, OfAMirrorThatNeverListenedIsZero) {
  for (const auto* strategy : kStrategies) {
    FakeSet mirrors(2);
    const ClosedPort refused;
    const Master master(
        with_strategy(strategy, "ha_ping_interval = 50ms"),
        fmt::format("table t {{\n type = distributed\n agent = {}|{}|{}:products\n}}",
                    mirrors[0].address(), mirrors[1].address(), refused.address()));
    EXPECT_TRUE(eventually([&] { return shown_shares(master, 3)[2] == 0; })) << strategy;
    EXPECT_NEAR(total(shown_shares(master, 3)), 1, 0.001) << strategy;
    EXPECT_EQ(mirrors.requests(), 0U);
  }
}

TEST(Shares, OfASilentMirrorIsZeroWithEveryStrategy) {
  for (const auto* strategy : kStrategies) {
    FakeSet mirrors(3);
    mirrors[2].react(always(silence()));
    const Master master(
        with_strategy(strategy, "ha_ping_interval = 50ms\n agent_query_timeout = 100ms"),
        mirrors.table());
    expect_last_left_out(master, strategy);
  }
}

// Pings are answered and every search fails: the breaker leaves the mirror out.
TEST(Shares, OfAMirrorWhoseBreakerIsOpenIsZeroWithEveryStrategy) {
  for (const auto* strategy : kStrategies) {
    FakeSet mirrors(3);
    mirrors[2].react(always(json(R"({"error":"internal error"})", 500)));
    const Master master(
        with_strategy(strategy, "ha_ping_interval = 10s\n breaker = 1\n breaker_reads = 1"),
        mirrors.table());
    expect_last_left_out(master, strategy);
  }
}

// `random` and `roundrobin` do not look at errors, so without a breaker the mirror is asked, and
// the share says so; strategies that look at them leave it out.
TEST(Shares, OfAMirrorThatAnswers500AreWhatTheStrategyDoes) {
  for (const auto* strategy : kStrategies) {
    FakeSet mirrors(3);
    mirrors[2].react(always(json(R"({"error":"internal error"})", 500)));
    const Master master(with_strategy(strategy, "ha_ping_interval = 10s"), mirrors.table());
    const std::string_view name = strategy;
    if (name == "random" || name == "roundrobin") {
      for (int i = 0; i < 60; ++i) EXPECT_EQ(master.search(kShareQuery).status, 200);
      EXPECT_NEAR(shown_shares(master, 3)[2], 1.0 / 3, 0.001) << strategy;
      EXPECT_GE(mirrors[2].requests(), 5U) << strategy;
    } else if (name != "leastops") {
      expect_last_left_out(master, strategy);
    }
    EXPECT_NEAR(total(shown_shares(master, 3)), 1, 0.001) << strategy;
  }
}

// What the next search does: it asks one of them.
TEST(Shares, OfMirrorsOfWhichNoneCanBeReachedAreThoseOfTheLastResort) {
  const ClosedPort first;
  const ClosedPort second;
  const Master master("ha_ping_interval = 50ms",
                      fmt::format("table t {{\n type = distributed\n agent = {}|{}:products\n}}",
                                  first.address(), second.address()));
  EXPECT_TRUE(eventually([&] {
    return master.word("/tables/0/shards/0/mirrors/0/state") == "dead" &&
           master.word("/tables/0/shards/0/mirrors/1/state") == "dead";
  }));
  EXPECT_EQ(shown_shares(master, 2), (std::vector{0.5, 0.5}));
}

}  // namespace
}  // namespace karmad::test
