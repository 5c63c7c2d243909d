// Which mirrors get how many queries, strategy by strategy.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <numeric>

#include "tests/support/cluster.hpp"
#include "tests/support/fake_mirror.hpp"
#include "tests/support/load.hpp"

namespace karmad::test {
namespace {

constexpr std::string_view kBalancedQuery = R"({"table":"t","query":{"match_all":{}}})";

FakeMirror::React with(const Reaction& reaction) {
  return [reaction](const std::string&) { return reaction; };
}

/// The mirrors of one shard that remember in which order they were asked.
class Mirrors {
 public:
  explicit Mirrors(std::size_t count, bool pings_too = false) {
    for (std::size_t i = 0; i < count; ++i) {
      mirrors_.push_back(std::make_unique<FakeMirror>(
          [this, i](const std::string&) {
            note(i + 1);
            return nothing_found();
          },
          pings_too));
    }
  }
  FakeMirror& operator[](std::size_t i) { return *mirrors_[i]; }
  std::string line() const {
    std::vector<std::string> addresses;
    for (const auto& mirror : mirrors_) addresses.push_back(mirror->address());
    return fmt::format("{}:products", fmt::join(addresses, "|"));
  }
  std::string table() const {
    return fmt::format("table t {{\n type = distributed\n agent = {}\n}}", line());
  }
  std::vector<std::size_t> order() const {
    const std::scoped_lock lock(mutex_);
    return order_;
  }

 private:
  void note(std::size_t mirror) {
    const std::scoped_lock lock(mutex_);
    order_.push_back(mirror);
  }

  mutable std::mutex mutex_;
  std::vector<std::size_t> order_;
  std::vector<std::unique_ptr<FakeMirror>> mirrors_;
};

double told(const Master& master, std::size_t mirror, const std::string& what) {
  return master.number(fmt::format("/tables/0/shards/0/mirrors/{}/{}", mirror, what));
}

/// The part of the next `queries` answers that each of three mirrors gives.
std::vector<double> shares(const Master& master, const Load& load, std::size_t mirrors,
                           std::size_t queries) {
  std::vector<double> counts;
  for (std::size_t i = 0; i < mirrors; ++i)
    counts.push_back(-told(master, i, "since_start/attempts"));
  EXPECT_TRUE(load.more(queries));
  for (std::size_t i = 0; i < mirrors; ++i) counts[i] += told(master, i, "since_start/attempts");
  const auto sum = std::accumulate(counts.begin(), counts.end(), 0.0);
  for (auto& count : counts) count /= sum;
  return counts;
}

// HA-004: one order for the whole process, whichever worker a client's connection landed on.
TEST(RoundRobin, GoesStrictlyInTheLinesOrderOverAllWorkers) {
  Mirrors mirrors(3);
  const Master master("workers = 2\n ha_strategy = roundrobin\n ha_ping_interval = 0",
                      mirrors.table());
  for (int i = 0; i < 30; ++i) EXPECT_EQ(master.search(kBalancedQuery).status, 200);
  const auto order = mirrors.order();
  ASSERT_EQ(order.size(), 30u);
  for (std::size_t i = 0; i < order.size(); ++i) EXPECT_EQ(order[i], i % 3 + 1) << i;
}

std::string around(Mirrors& mirrors, const std::string& between) {
  return fmt::format("table t {{\n type = distributed\n agent = {}|{}|{}:products\n}}",
                     mirrors[0].address(), between, mirrors[1].address());
}

// A mirror that fails has its turn; the retry takes none (Manticore's case 259, where it does).
TEST(RoundRobin, TakesNoNoteOfHealthAndARetryTakesNoTurn) {
  Mirrors mirrors(2);
  const FakeMirror failing(
      [](const std::string&) { return json(R"({"error":"internal error"})", 500); });
  const Master master("ha_strategy = roundrobin\n ha_ping_interval = 0",
                      around(mirrors, failing.address()));
  for (int i = 0; i < 20; ++i) EXPECT_EQ(master.search(kBalancedQuery).status, 200);
  EXPECT_EQ(told(master, 1, "since_start/wrong_replies"), 7) << "every third of 20";
}

// With turns for retries, every first attempt would meet the mirror that fails.
TEST(RoundRobin, WithTwoMirrorsEverySecondFirstAttemptMeetsTheOneThatFails) {
  Mirrors mirrors(1);
  for (const int status : {500, 429, 503}) {
    const FakeMirror failing(
        [status](const std::string&) { return json(R"({"error":"internal error"})", status); });
    const Master master("ha_strategy = roundrobin\n ha_ping_interval = 0\n agent_retry_delay = 1ms",
                        fmt::format("table t {{\n type = distributed\n agent = {}|{}\n}}",
                                    failing.address(), mirrors[0].address()));
    for (int i = 0; i < 20; ++i) EXPECT_EQ(master.search(kBalancedQuery).status, 200);
    EXPECT_EQ(failing.requests(), 10U) << status;
  }
}

// A mirror that refuses connections loses its turn until it was reachable again.
TEST(RoundRobin, SkipsMirrorsThatRefuseConnections) {
  Mirrors mirrors(2);
  const ClosedPort refused;
  const Master master("ha_strategy = roundrobin", around(mirrors, refused.address()));
  for (int i = 0; i < 20; ++i) EXPECT_EQ(master.search(kBalancedQuery).status, 200);
  const auto order = mirrors.order();
  ASSERT_EQ(order.size(), 20u);
  for (std::size_t i = 3; i < order.size(); ++i) EXPECT_NE(order[i], order[i - 1]) << i;
  EXPECT_LE(told(master, 1, "since_start/connect_failures"), 2);
}

// HA-003. 600 queries over three mirrors: 200 each, standard deviation 11.5; 58 is five of them.
TEST(Random, GivesEveryMirrorAboutTheSameAlsoTheSlowAndTheFailing) {
  Mirrors mirrors(3);
  mirrors[1].react(with(slowly(2ms)));
  mirrors[2].react(with(json(R"({"error":"internal error"})", 500)));
  const Master master("ha_ping_interval = 0\n agent_retry_count = 0", mirrors.table());
  int answered = 0;
  for (int i = 0; i < 600; ++i) answered += master.search(kBalancedQuery).status == 200 ? 1 : 0;
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_NEAR(static_cast<double>(mirrors[i].requests()), 200, 58) << i;
  EXPECT_EQ(answered, 600 - static_cast<int>(mirrors[2].requests()));
}

// HA-007, HA-022
TEST(NoDeads, LeavesAMirrorAloneAfterFourErrorsInARow) {
  Mirrors mirrors(2);
  mirrors[0].react(with(json(R"({"error":"internal error"})", 500)));
  const Master master("ha_strategy = nodeads\n ha_ping_interval = 0", mirrors.table());
  EXPECT_TRUE(eventually([&] {
    EXPECT_EQ(master.search(kBalancedQuery).status, 200);
    return mirrors[0].requests() == 4;
  }));
  for (int i = 0; i < 60; ++i) EXPECT_EQ(master.search(kBalancedQuery).status, 200);
  EXPECT_EQ(mirrors[0].requests(), 4u);
  EXPECT_EQ(told(master, 0, "errors_in_a_row"), 4);
  EXPECT_EQ(told(master, 0, "probability"), 0);
}

TEST(NoDeads, AsksADeadMirrorAgainAfterAnAnsweredPing) {
  Mirrors mirrors(2, true);
  mirrors[0].react(with(json(R"({"error":"internal error"})", 500)));
  const Master master("ha_strategy = nodeads\n ha_ping_interval = 50ms", mirrors.table());
  ASSERT_TRUE(eventually([&] { return told(master, 0, "errors_in_a_row") > 3; }));
  const auto attempts = told(master, 0, "since_start/attempts");
  for (int i = 0; i < 20; ++i) EXPECT_EQ(master.search(kBalancedQuery).status, 200);
  EXPECT_EQ(told(master, 0, "since_start/attempts"), attempts) << "asked though it is dead";
  mirrors[0].react(with(nothing_found()));
  EXPECT_TRUE(eventually([&] { return told(master, 0, "errors_in_a_row") == 0; }));
  EXPECT_TRUE(eventually([&] {
    EXPECT_EQ(master.search(kBalancedQuery).status, 200);
    return told(master, 0, "since_start/attempts") >= attempts + 5;
  }));
}

// All dead: those with the fewest errors in a row.
TEST(NoDeads, AsksTheLeastDeadWhenAllAre) {
  Mirrors mirrors(2);
  for (std::size_t i : {0, 1}) mirrors[i].react(with(json(R"({"error":"internal error"})", 500)));
  const Master master("ha_strategy = nodeads\n ha_ping_interval = 0\n agent_retry_count = 0",
                      mirrors.table());
  for (int i = 0; i < 30; ++i) EXPECT_EQ(master.search(kBalancedQuery).status, 502);
  EXPECT_NEAR(static_cast<double>(mirrors[0].requests()), 15, 4);
  EXPECT_EQ(mirrors[0].requests() + mirrors[1].requests(), 30u);
}

// HA-008, HA-023
TEST(NoErrors, AvoidsAMirrorThatFailsThirtyPercent) {
  Mirrors mirrors(2);
  mirrors[0].react([n = 0](const std::string&) mutable {
    return n++ % 10 < 3 ? json(R"({"error":"internal error"})", 500) : nothing_found();
  });
  const Master master("ha_strategy = noerrors\n ha_ping_interval = 0", mirrors.table());
  EXPECT_TRUE(eventually([&] {
    EXPECT_EQ(master.search(kBalancedQuery).status, 200);
    return told(master, 0, "probability") == 0 && told(master, 1, "probability") == 1;
  }));
  const auto before = mirrors[0].requests();
  for (int i = 0; i < 50; ++i) EXPECT_EQ(master.search(kBalancedQuery).status, 200);
  EXPECT_EQ(mirrors[0].requests(), before);
}

// Case 10 of the peer's notes, at twice the times so that a busy machine matters less.
TEST(Karma, FollowsInverseLatencyWithoutCompounding) {
  Mirrors mirrors(3);
  mirrors[0].react(with(slowly(10ms)));
  mirrors[1].react(with(slowly(40ms)));
  mirrors[2].react(with(slowly(160ms)));
  const Master master(
      "ha_strategy = nodeads\n karma_compound = 0\n ha_period_karma = 1s\n ha_ping_interval = 0",
      mirrors.table());
  Load load(master.port(), 12, expecting_200(std::string(kBalancedQuery)));
  const auto weight = [&](std::size_t mirror) { return told(master, mirror, "weight"); };
  const auto near = [](double value, double wanted, double by) {
    return value > wanted - by && value < wanted + by;
  };
  EXPECT_TRUE(eventually([&] {
    return near(weight(0), 0.76, 0.1) && near(weight(1), 0.19, 0.08) && near(weight(2), 0.05, 0.04);
  })) << weight(0)
      << ' ' << weight(1) << ' ' << weight(2);
  const auto got = shares(master, load, 3, 500);
  EXPECT_NEAR(got[0], 0.76, 0.15);
  EXPECT_NEAR(got[1], 0.19, 0.12);
  EXPECT_NEAR(got[2], 0.05, 0.05);
  EXPECT_EQ(load.wrong(), "");
}

// The peer's defect g.1: there a silent mirror ends with all of the weight.
TEST(Karma, TakesItsShareFromASilentMirrorAndGivesItBackWhenItHasRecovered) {
  Mirrors mirrors(3);
  for (std::size_t i : {0, 1}) mirrors[i].react(with(slowly(5ms)));
  mirrors[2].react(with(silence()));
  // Pings are answered, so the mirror is not dead for long: karma has to see it.
  const Master master(
      "ha_strategy = nodeads\n dead_after = 1000\n ha_period_karma = 1s\n ha_ping_interval = 50ms\n"
      " agent_query_timeout = 250ms\n agent_retry_count = 0",
      mirrors.table());
  std::atomic<int> failed{0};
  Load load(master.port(), 6, [&](HttpClient& client, std::size_t) {
    const auto answer = client.request("POST", "/search", kBalancedQuery);
    if (!answer || answer->status == 504) ++failed;
    return std::string();
  });
  const auto weight = [&](std::size_t mirror) { return told(master, mirror, "weight"); };
  // 250 ms beside 5 ms would be 0.01; a busy machine makes the healthy ones slower.
  EXPECT_TRUE(eventually([&] { return weight(2) < 0.05; })) << weight(2);
  EXPECT_GT(failed, 0);
  EXPECT_LT(shares(master, load, 3, 300)[2], 0.1);
  // The healthy ones are as they were, compared with each other.
  EXPECT_GT(weight(0) / weight(1), 0.25);
  EXPECT_LT(weight(0) / weight(1), 4);
  mirrors[2].react(with(slowly(5ms)));
  EXPECT_TRUE(eventually([&] { return weight(2) > 0.15; })) << weight(2);
  EXPECT_GT(shares(master, load, 3, 300)[2], 0.08);
  EXPECT_LT(weight(2), 0.7) << "it does not get everything either";
}

TEST(Strategy, IsTheLinesElseTheTablesElseTheInstances) {
  Mirrors mirrors(2);
  const auto table = [&](const std::string& name, const std::string& own,
                         const std::string& options) {
    return fmt::format("table {} {{\n type = distributed\n {}\n agent = {} {}\n agent = {}\n}}\n",
                       name, own, mirrors.line(), options, mirrors.line());
  };
  const Master master("ha_strategy = roundrobin",
                      table("t", "", "") + table("u", "ha_strategy = nodeads", "") +
                          table("v", "ha_strategy = nodeads", "[ha_strategy=noerrors]"));
  const auto strategy = [&](int of_table, int shard) {
    return master.word(fmt::format("/tables/{}/shards/{}/strategy", of_table, shard));
  };
  EXPECT_EQ(strategy(0, 0), "roundrobin");
  EXPECT_EQ(strategy(1, 0), "nodeads");
  EXPECT_EQ(strategy(1, 1), "nodeads");
  EXPECT_EQ(strategy(2, 0), "noerrors");
  EXPECT_EQ(strategy(2, 1), "nodeads");
  const Master plain("", table("t", "", ""));
  EXPECT_EQ(plain.word("/tables/0/shards/0/strategy"), "random");  // HA-002
}

}  // namespace
}  // namespace karmad::test
