// A shard without an answer: a warning or an error, which says what is missing and why.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/cluster.hpp"
#include "tests/support/fake_mirror.hpp"
#include "tests/support/fake_set.hpp"

namespace karmad::test {
namespace {

constexpr std::string_view kQuery =
    R"({"table":"t","query":{"match":{"title":"lamp"}},"sort":["price"]})";
constexpr std::string_view kDeny = "X-Partial-Results: deny\r\n";
constexpr std::string_view kAllow = "X-Partial-Results: allow\r\n";

FakeMirror::React with(const Reaction& reaction) {
  return [reaction](const std::string&) { return reaction; };
}

std::string shards(const std::string& first, const std::string& second,
                   const std::string& more = "") {
  return fmt::format(
      "table t {{\n type = distributed\n agent = {}:products\n agent = {}:products\n"
      "{}\n}}\n",
      first, second, more);
}

bool has(const Response& response, const std::string& text) {
  return response.body.find(text) != std::string::npos;
}

std::string hits(const std::string& body) {
  return body.substr(body.find("\"hits\":"));
}

TEST(PartialResults, AreTheLivingShardsHitsAndAWarningThatNamesEveryMirrorTried) {
  const DemoAgent alive("1/2", "demo", 0, 600);
  const ClosedPort one;
  const ClosedPort two;
  const Master master("ha_ping_interval = 0",
                      shards(one.address() + "|" + two.address(), alive.address()));
  const auto answer = master.search(kQuery);
  EXPECT_EQ(answer.status, 200);
  EXPECT_TRUE(has(answer, "\"warning\":{\"reason\":\"table t: shard 1: agent ")) << answer.body;
  EXPECT_TRUE(has(answer, fmt::format("agent {}: Connection refused", one.address())))
      << answer.body;
  EXPECT_TRUE(has(answer, fmt::format("agent {}: Connection refused", two.address())))
      << answer.body;
  EXPECT_FALSE(has(answer, "shard 2")) << answer.body;
  EXPECT_TRUE(has(answer, "\"timed_out\":false")) << answer.body;
  const auto alone =
      post(alive.port(), "/search",
           R"({"table":"products","query":{"match":{"title":"lamp"}},"sort":["price","id"]})");
  EXPECT_EQ(hits(answer.body), hits(alone.body));

  const auto denied = master.search(kQuery, kDeny);
  EXPECT_EQ(denied.status, 503);
  EXPECT_TRUE(has(denied, "table t: shard 1: agent ")) << denied.body;
  EXPECT_TRUE(has(denied, fmt::format("agent {}: Connection refused", two.address())))
      << denied.body;
}

TEST(PartialResults, SayTimedOutWhenThatIsWhyAShardIsMissing) {
  const FakeMirror alive(with(nothing_found()));
  const FakeMirror silent(with(silence()));
  const Master master("ha_ping_interval = 0\n agent_query_timeout = 150ms",
                      shards(alive.address(), silent.address()));
  const auto answer = master.search(kQuery);
  EXPECT_EQ(answer.status, 200);
  EXPECT_TRUE(has(answer, "\"timed_out\":true")) << answer.body;
  EXPECT_TRUE(
      has(answer, fmt::format("table t: shard 2: agent {}: query timed out", silent.address())))
      << answer.body;
  const auto denied = master.search(kQuery, kDeny);
  EXPECT_EQ(denied.status, 504);
  EXPECT_TRUE(has(denied, fmt::format("shard 2: agent {}: query timed out", silent.address())))
      << denied.body;
}

TEST(PartialResults, AreDeniedByTheTableUnlessTheRequestAllowsThem) {
  const FakeMirror alive(with(nothing_found()));
  const ClosedPort gone;
  const Master master("ha_ping_interval = 0",
                      shards(alive.address(), gone.address(), " partial_results = deny"));
  EXPECT_EQ(master.search(kQuery).status, 503);
  EXPECT_EQ(master.search(kQuery, kAllow).status, 200);
  EXPECT_EQ(master.search(kQuery, kDeny).status, 503);
}

// BP-013: a client that shall return later is told so, whichever shard refuses, and how.
TEST(PartialResults, DeniedBecauseOfOverloadAreToldAsOverload) {
  const FakeMirror alive(with(nothing_found()));
  const ClosedPort gone;
  for (const auto status : {429, 503}) {
    const FakeMirror busy(with(refused(status, "Retry-After: 7\r\n")));
    for (const auto& table :
         {shards(alive.address(), busy.address()), shards(busy.address(), alive.address()),
          shards(gone.address(), busy.address(),
                 fmt::format(" agent = {}:products", alive.address()))}) {
      const Master master("ha_ping_interval = 0", table);
      const auto answer = master.search(kQuery, kDeny);
      EXPECT_EQ(answer.status, 429) << answer.body;
      EXPECT_EQ(answer.fields.at("retry-after"), "7");
      EXPECT_EQ(answer.fields.at("x-error-labels"), "SystemOverloadedError, RetryableError");
      EXPECT_TRUE(has(answer, "partial results are denied")) << answer.body;
    }
  }
}

// As with one shard: programs tell the cause by its type.
TEST(PartialResults, DeniedForLackOfAMirrorHaveTheTypeAndDelayOfThat) {
  const FakeMirror alive(with(nothing_found()));
  const ClosedPort gone;
  const auto drained = alive.address() + ":products[state=drain]";
  for (const auto& table : {shards(alive.address(), alive.address(), " agent = " + drained),
                            shards(gone.address(), alive.address(), " agent = " + drained)}) {
    const Master master("ha_ping_interval = 0\n agent_retry_count = 0", table);
    for (const auto& [target, body] :
         {std::pair("/search", R"({"table":"t","query":{"match_all":{}}})"),
          {"/t/_search", R"({"query":{"match_all":{}}})"}}) {
      const auto answer = ask(master.port(), "POST", target, body, kDeny);
      EXPECT_EQ(answer.status, 503) << answer.body;
      EXPECT_TRUE(has(answer, R"({"error":{"type":"out_of_service","reason":"partial results are )"
                              R"(denied and )"))
          << answer.body;
      EXPECT_TRUE(has(answer, "table t: shard 3: all suitable mirrors were taken out"))
          << answer.body;
      EXPECT_EQ(answer.fields.at("retry-after"), "1");
    }
  }
}

// A client that returned earlier would be refused by the other shard again.
TEST(PartialResults, TheLongestPauseOfAllShardsIsTold) {
  const FakeMirror soon(with(refused(503, "Retry-After: 4\r\n")));
  const FakeMirror late(with(refused(429, "Retry-After: 31\r\n")));
  const FakeMirror untold(with(refused(429, "")));
  for (const auto& table :
       {shards(soon.address(), late.address()), shards(late.address(), soon.address()),
        shards(untold.address(), late.address())}) {
    const Master master("ha_ping_interval = 0\n overload_max_retries = 0", table);
    const auto answer = master.search(kQuery);
    EXPECT_EQ(answer.status, 429) << answer.body;
    EXPECT_EQ(answer.fields.at("retry-after"), "31");
  }
}

TEST(PartialResults, AreDeniedByTheInstanceUnlessTheTableAllowsThem) {
  const FakeMirror alive(with(nothing_found()));
  const ClosedPort gone;
  const Master strict("ha_ping_interval = 0\n partial_results = deny",
                      shards(alive.address(), gone.address()));
  EXPECT_EQ(strict.search(kQuery).status, 503);
  const Master lenient("ha_ping_interval = 0\n partial_results = deny",
                       shards(alive.address(), gone.address(), " partial_results = allow"));
  EXPECT_EQ(lenient.search(kQuery).status, 200);
}

TEST(NoResults, WhenAllShardsAreDeadTheErrorNamesEveryMirrorOfEach) {
  const ClosedPort a;
  const ClosedPort b;
  const ClosedPort c;
  const Master master("ha_ping_interval = 0", shards(a.address() + "|" + b.address(), c.address()));
  for (const auto fields : {kAllow, kDeny}) {
    const auto answer = master.search(kQuery, fields);
    EXPECT_EQ(answer.status, 502);
    EXPECT_TRUE(has(answer, "\"error\":")) << answer.body;
    EXPECT_TRUE(has(answer, "table t: shard 1: agent ")) << answer.body;
    EXPECT_TRUE(has(answer, "table t: shard 2: agent " + c.address())) << answer.body;
    for (const auto& mirror : {a.address(), b.address()})
      EXPECT_TRUE(has(answer, "agent " + mirror + ": Connection refused")) << answer.body;
  }
}

TEST(NoResults, IsAGatewayTimeoutWhenATimeOutWasTheReason) {
  const FakeMirror silent(with(silence()));
  const ClosedPort gone;
  const Master master("ha_ping_interval = 0\n agent_query_timeout = 150ms",
                      shards(gone.address(), silent.address()));
  const auto answer = master.search(kQuery);
  EXPECT_EQ(answer.status, 504);
  EXPECT_TRUE(has(answer, gone.address() + ": Connection refused")) << answer.body;
  EXPECT_TRUE(has(answer, silent.address() + ": query timed out")) << answer.body;
}

// The texts of many mirrors are not cut.
TEST(NoResults, TheErrorIsNotCutHoweverManyMirrorsFailed) {
  std::vector<std::unique_ptr<ClosedPort>> ports;
  std::string line;
  for (int i = 0; i < 11; ++i) {
    ports.push_back(std::make_unique<ClosedPort>());
    line += (i == 0 ? "" : "|") + ports.back()->address();
  }
  const Master master("ha_ping_interval = 0",
                      fmt::format("table t {{\n type = distributed\n agent = {}:products "
                                  "[retry_count=10]\n max_attempts = 11\n}}\n",
                                  line));
  const auto answer = master.search(kQuery);
  EXPECT_EQ(answer.status, 502);
  for (const auto& port : ports)
    EXPECT_TRUE(has(answer, port->address() + ": Connection refused")) << answer.body;
}

// Only the slow shard is reported (Manticore reports others as well).
TEST(SlowShard, IsTheOnlyOneThatIsBlamed) {
  const FakeMirror fast(with(nothing_found()));
  const FakeMirror slow(with(silence()));
  const Master master("ha_ping_interval = 0\n agent_query_timeout = 150ms",
                      shards(fast.address(), slow.address()));
  EXPECT_EQ(master.search(kQuery).status, 200);
  const auto counted = [&](int shard, const std::string& what) {
    return master.number(fmt::format("/tables/0/shards/{}/mirrors/0/periods/1/{}", shard, what));
  };
  EXPECT_EQ(counted(0, "query_timeouts"), 0);
  EXPECT_EQ(counted(0, "succeeded_queries"), 1);
  EXPECT_EQ(counted(1, "query_timeouts"), 1);
  EXPECT_EQ(counted(1, "succeeded_queries"), 0);
}

}  // namespace
}  // namespace karmad::test
