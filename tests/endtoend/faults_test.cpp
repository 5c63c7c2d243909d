// One mirror of each shard is in trouble; clients do not notice.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <csignal>
#include <optional>

#include "tests/support/cluster.hpp"
#include "tests/support/load.hpp"

namespace karmad::test {
namespace {

constexpr std::string_view kQuery =
    R"({"table":"products","query":{"match":{"body":"lamp"}},"sort":["brand",{"price":"desc"}],)"
    R"("limit":10,"offset":5,"aggs":{"b":{"terms":{"field":"brand"}}}})";

constexpr std::string_view kMore[] = {
    R"({"table":"products","query":{"match_all":{}},"limit":200})",
    R"({"table":"products","limit":0,"aggs":{"a":{"avg":{"field":"price"}}}})",
    R"({"table":"products","query":{"match":{"title":"oak"}},"_source":["title"],"highlight":{}})",
};

/// Two shards with two mirrors each, karmad in front of them, and the answer that is right.
class Faults : public testing::Test {
 protected:
  void start(const std::string& searchd) {
    master.emplace(searchd,
                   fmt::format("table products {{\n type = distributed\n agent = {}|{}:products\n"
                               " agent = {}|{}:products\n}}",
                               a1->address(), a2->address(), b1->address(), b2->address()));
    ASSERT_TRUE(master->ready());
    expected = post(whole.port(), "/search", kQuery).body;
    questions = {{std::string(kQuery), expected}};
    for (const auto query : kMore)
      questions.push_back({std::string(query), post(whole.port(), "/search", query).body});
  }

  double of_mirror(int shard, int mirror, const std::string& what) const {
    return master->number(
        fmt::format("/tables/0/shards/{}/mirrors/{}/{}", shard - 1, mirror - 1, what));
  }
  /// The mirror answers queries again, not only pings.
  bool share_returns(int shard, int mirror) const {
    const auto before = of_mirror(shard, mirror, "since_start/succeeded_queries");
    return eventually(
        [&] { return of_mirror(shard, mirror, "since_start/succeeded_queries") > before + 3; });
  }

  static DemoAgent agent(const std::string& shard, int port = 0) {
    return DemoAgent(shard, "demo", port, 600);
  }

  DemoAgent whole = agent("0/1");
  std::optional<DemoAgent> a1 = agent("0/2");
  std::optional<DemoAgent> a2 = agent("0/2");
  std::optional<DemoAgent> b1 = agent("1/2");
  std::optional<DemoAgent> b2 = agent("1/2");
  std::optional<Master> master;
  std::string expected;  ///< for kQuery
  std::vector<LoadQuery> questions;
};

// Without pings `random` asks the broken mirrors again and again; the default of one retry (X-15)
// repairs every answer.
TEST_F(Faults, EveryAnswerIsRightWhileAMirrorOfEachShardMisbehaves) {
  start(
      "ha_strategy = random\n ha_ping_interval = 0\n max_packet_size = 1m\n"
      " agent_query_timeout = 20s\n request_timeout = 20s");
  Load load(master->port(), 3, expecting(questions));
  for (const std::string disturbance :
       {"mode=chunked", "mode=refuse", "mode=reset", "mode=close_before", "mode=close_within",
        "mode=close_after", "mode=not_http", "mode=not_json", "mode=wrong_json", "mode=truncated",
        "mode=long_body", "mode=huge", "error_rate=1", "overload=1",
        "overload=1&overload_status=429"}) {
    const auto failed = [&] { return master->count("agent_retry"); };
    a1->control("reset=1&" + disturbance);
    b1->control("reset=1&" + disturbance);
    EXPECT_TRUE(load.more(6)) << "what was under way";
    const auto before = failed();
    EXPECT_TRUE(load.more(40)) << disturbance;
    const bool harmless = disturbance == "mode=chunked" || disturbance == "mode=close_after";
    // Who refuses and says when to come back is not asked before, who refuses connections not until
    // he is there again.
    const bool gone = disturbance == "mode=refuse";
    const bool spared = gone || disturbance.starts_with("overload");
    if (!spared) {
      EXPECT_EQ(failed() > before, !harmless) << disturbance;
    }
    EXPECT_EQ(load.wrong(), "") << disturbance;
    if (gone) {
      a1->control("reset=1");
      b1->control("reset=1");
      EXPECT_TRUE(share_returns(1, 1));
      EXPECT_TRUE(share_returns(2, 1));
    }
  }
  a1->control("reset=1");
  b1->control("reset=1");
  EXPECT_TRUE(share_returns(1, 1));
  EXPECT_TRUE(share_returns(2, 1));
  load.stop();
  EXPECT_EQ(load.wrong(), "");
}

TEST_F(Faults, EveryAnswerIsRightWhileMirrorsAreKilledAndTheyAreAskedAgainWhenTheyAreBack) {
  start(
      "ha_strategy = nodeads\n ha_ping_interval = 100ms\n agent_query_timeout = 20s\n"
      " request_timeout = 20s");
  Load load(master->port(), 3, expecting(questions));
  ASSERT_TRUE(load.more(30));
  a1->process().kill();
  b2->process().kill();
  ASSERT_TRUE(load.more(60));
  EXPECT_TRUE(eventually([&] { return of_mirror(1, 1, "errors_in_a_row") > 3; }));
  EXPECT_EQ(of_mirror(1, 1, "probability"), 0);
  EXPECT_EQ(of_mirror(1, 2, "probability"), 1);
  EXPECT_EQ(load.wrong(), "");
  const int a1_port = a1->port();
  const int b2_port = b2->port();
  a1.reset();
  b2.reset();
  a1.emplace(agent("0/2", a1_port));
  b2.emplace(agent("1/2", b2_port));
  EXPECT_TRUE(share_returns(1, 1));
  EXPECT_TRUE(share_returns(2, 2));
  load.stop();
  EXPECT_EQ(load.wrong(), "");
}

// Without retries the query that met the frozen mirror ends with a warning.
TEST_F(Faults, AQueryThatMeetsAFrozenMirrorEndsInTimeWithAnAnswerOrAWarning) {
  start(
      "ha_strategy = nodeads\n ha_ping_interval = 100ms\n agent_connect_timeout = 400ms\n"
      " agent_query_timeout = 400ms\n agent_retry_count = 0");
  const auto right = without_took(expected);
  const auto named = fmt::format("table products: shard 1: agent {}: ", a1->address());
  std::atomic<int> warned{0};
  const auto ask = [&](HttpClient& client, std::size_t) -> std::string {
    const auto began = std::chrono::steady_clock::now();
    const auto answer = client.request("POST", "/search", kQuery);
    if (!answer || answer->status != 200)
      return fmt::format("{}: {}", answer ? answer->status : 0, answer ? answer->body : "");
    // Both time-outs and what a busy machine needs; without an end it would be kSoon.
    if (std::chrono::steady_clock::now() - began > 800ms + 4s) return "took too long";
    if (without_took(answer->body) == right) return "";
    ++warned;
    const auto& body = answer->body;
    const bool told = body.find(named) != body.npos && body.find("timed out") != body.npos &&
                      body.find(R"("timed_out":true)") != body.npos;
    return told ? "" : body;
  };
  Load load(master->port(), 3, ask);
  ASSERT_TRUE(load.more(20));
  a1->process().signal(SIGSTOP);
  EXPECT_TRUE(eventually([&] { return of_mirror(1, 1, "errors_in_a_row") > 3; }));
  EXPECT_TRUE(load.more(20));
  const int while_frozen = warned;
  EXPECT_TRUE(load.more(50));
  EXPECT_LE(warned - while_frozen, 3) << "a dead mirror is left alone";
  EXPECT_GT(warned, 0);
  a1->process().signal(SIGCONT);
  EXPECT_TRUE(share_returns(1, 1));
  load.stop();
  EXPECT_EQ(load.wrong(), "");
}

TEST_F(Faults, AfterAnyGarbageTheAnswerIsRightOrNamesTheMissingShards) {
  start("ha_strategy = random\n max_packet_size = 1m\n agent_query_timeout = 400ms");
  const auto right = without_took(expected);
  const auto named = fmt::format("table products: shard 1: agent {}: ", a1->address());
  a1->control("mode=garbage");
  Load load(master->port(), 3, [&](HttpClient& client, std::size_t) -> std::string {
    const auto answer = client.request("POST", "/search", kQuery);
    if (!answer || answer->status != 200) return answer ? answer->body : "no answer";
    if (without_took(answer->body) == right || answer->body.find(named) != std::string::npos)
      return "";
    return answer->body;
  });
  EXPECT_TRUE(load.more(150));
  load.stop();
  EXPECT_EQ(load.wrong(), "");
}

}  // namespace
}  // namespace karmad::test
