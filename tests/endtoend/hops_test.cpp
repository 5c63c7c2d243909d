// Loops of karmads end after a few hops, and do not count as errors of mirrors.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/support/cluster.hpp"
#include "tests/support/fake_set.hpp"

namespace karmad::test {
namespace {

constexpr std::string_view kHopsQuery = R"({"table":"t","query":{"match_all":{}}})";
constexpr std::string_view kLoopAnswer =
    R"({"error":{"type":"loop_detected","reason":"too many"},"status":508})";

/// The values of X-Karmad-Hops in a request that a mirror saw.
std::vector<std::string> hops_in(const std::string& request) {
  std::vector<std::string> values;
  const std::string name = "X-Karmad-Hops: ";
  for (auto at = request.find(name); at != std::string::npos; at = request.find(name, at + 1)) {
    const auto begin = at + name.size();
    values.push_back(request.substr(begin, request.find("\r\n", begin) - begin));
  }
  return values;
}
using Values = std::vector<std::string>;

std::string hop_table(const std::string& agent, const std::string& more = {}) {
  return fmt::format("table t {{\n type = distributed\n agent = {}:t\n{}}}\n", agent, more);
}
std::string hop_route(const std::string& agent) {
  return fmt::format(
      "table w {{\n type = distributed\n dialect = http\n route = /w\n agent = {}\n}}\n", agent);
}

TEST(Hops, AreCountedForSearchesStatementsUpdatesRoutesAndCopies) {
  const FakeMirror mirror(always(nothing_found()));
  const FakeMirror copy(always(nothing_found()));
  const FakeMirror web(always(json("{}")), /*pings_too=*/true);
  const Master master(
      "ha_ping_interval = 0",
      hop_table(mirror.address(), fmt::format(" agent_blackhole = {}\n", copy.address())) +
          hop_route(web.address()));
  EXPECT_EQ(master.search(kHopsQuery).status, 200);
  EXPECT_EQ(master.search(kHopsQuery, "X-Karmad-Hops: 2\r\n").status, 200);
  ask(master.port(), "POST", "/sql", "query=select%20*%20from%20t", "X-Karmad-Hops: 1\r\n");
  insert(master, "X-Karmad-Hops: 3\r\n");
  EXPECT_EQ(get(master.port(), "/w/a").status, 200);
  EXPECT_EQ(ask(master.port(), "GET", "/w/b", "", "x-karmad-hops: 2\r\nX-Other: 1\r\n").status,
            200);
  ASSERT_EQ(mirror.requests(), 4u);
  for (const auto& [i, value] : {std::pair(0, "1"), {1, "3"}, {2, "2"}, {3, "4"}})
    EXPECT_EQ(hops_in(mirror.seen()[static_cast<std::size_t>(i)]), Values{value}) << i;
  ASSERT_EQ(web.requests(), 2u);
  EXPECT_EQ(hops_in(web.seen()[0]), Values{"1"});
  EXPECT_EQ(hops_in(web.seen()[1]), Values{"3"});
  EXPECT_FALSE(web.seen()[1].contains("x-karmad-hops")) << "that of the client is replaced";
  EXPECT_TRUE(eventually([&] { return copy.requests() >= 4; }));
  std::multiset<std::string> copied;  // copies overtake each other
  for (const auto& request : copy.seen())
    for (const auto& value : hops_in(request)) copied.insert(value);
  EXPECT_EQ(copied, (std::multiset<std::string>{"1", "2", "3", "4"}));
}

TEST(Hops, ThatAreNoNumberAreRefused) {
  const FakeMirror mirror(always(nothing_found()));
  const Master master("ha_ping_interval = 0", hop_table(mirror.address()));
  for (const std::string value : {"-1", "+1", "x", "", "70000", "1, 2", "1.0", "0x1", "1 1"}) {
    const auto answer = master.search(kHopsQuery, "X-Karmad-Hops: " + value + "\r\n");
    EXPECT_EQ(answer.status, 400) << value;
    EXPECT_TRUE(answer.body.contains("X-Karmad-Hops is one number")) << answer.body;
  }
  for (const auto* first : {"4", "0"}) {
    const auto answer =
        master.search(kHopsQuery, fmt::format("X-Karmad-Hops: {}\r\nX-Karmad-Hops: 0\r\n", first));
    EXPECT_EQ(answer.status, 400);
    EXPECT_TRUE(answer.body.contains("X-Karmad-Hops is given twice")) << answer.body;
  }
  EXPECT_EQ(mirror.requests(), 0u);
  EXPECT_EQ(ask(master.port(), "GET", "/healthz", "", "X-Karmad-Hops: x\r\n").status, 200);
}

TEST(Hops, AreBoundedByTheSettingAndCounted) {
  const FakeMirror mirror(always(nothing_found()));
  const Master three("ha_ping_interval = 0", hop_table(mirror.address()));
  EXPECT_EQ(three.search(kHopsQuery, "X-Karmad-Hops: 3\r\n").status, 200);
  const auto refused = three.search(kHopsQuery, "X-Karmad-Hops: 4\r\n");
  EXPECT_EQ(refused.status, 508);
  EXPECT_TRUE(refused.body.contains(R"("type":"loop_detected")")) << refused.body;
  EXPECT_TRUE(refused.body.contains("max_hops")) << refused.body;
  EXPECT_EQ(three.count("loops_refused"), 1);
  const Master none("ha_ping_interval = 0\n max_hops = 0", hop_table(mirror.address()));
  EXPECT_EQ(none.search(kHopsQuery).status, 200);
  EXPECT_EQ(none.search(kHopsQuery, "X-Karmad-Hops: 1\r\n").status, 508);
}

TEST(Hops, EndALoopOverTwoKarmadsWhichBothTakeForNoError) {
  const TempDir dir;
  const auto socket = dir.path() + "/second.sock";
  const Master first("ha_ping_interval = 0\n persistent_connections_limit = 0",
                     hop_table(socket) + hop_route(socket));
  Master second(fmt::format("listen = {}\n ha_ping_interval = 0\n"
                            " persistent_connections_limit = 0",
                            socket),
                hop_table(fmt::format("127.0.0.1:{}", first.port())) +
                    hop_route(fmt::format("127.0.0.1:{}", first.port())));
  ASSERT_TRUE(second.process().wait_for("listening on " + socket));
  const auto answer = first.search(kHopsQuery);
  EXPECT_EQ(answer.status, 508) << answer.body;
  EXPECT_TRUE(answer.body.contains("loop_detected")) << answer.body;
  EXPECT_EQ(first.count("queries") + second.count("queries"), 4);  // 0, 1, 2, 3 hops
  EXPECT_EQ(first.count("loops_refused"), 1);
  EXPECT_EQ(insert(first).status, 508);
  EXPECT_EQ(get(first.port(), "/w").status, 508);
  EXPECT_EQ(first.count("agent_retry") + second.count("agent_retry"), 0);
  EXPECT_EQ(first.count("queries_failed") + second.count("queries_failed"), 0);
  EXPECT_EQ(first.number("/tables/0/shards/0/mirrors/0/errors_in_a_row"), 0);
}

TEST(Hops, ARefusalOfAMirrorIsPassedOnWithoutARetryAndIsNoError) {
  for (const bool routed : {false, true}) {
    FakeSet set(2, json(kLoopAnswer, 508));
    const auto table =
        routed ? fmt::format(
                     "table w {{\n type = distributed\n dialect = http\n route = /w\n reads = /w\n"
                     " agent = {}|{}\n}}\n",
                     set[0].address(), set[1].address())
               : set.table();
    const Master master(taking_turns(), table);
    const auto answer = routed ? ask(master.port(), "POST", "/w", "{}") : master.search(kHopsQuery);
    EXPECT_EQ(answer.status, 508) << answer.body;
    EXPECT_TRUE(answer.body.contains("loop_detected")) << answer.body;
    EXPECT_EQ(set.requests(), 1u);
    for (const auto* mirror : {"0", "1"})
      EXPECT_EQ(master.number(fmt::format("/tables/0/shards/0/mirrors/{}/errors_in_a_row", mirror)),
                0);
  }
}

TEST(Hops, A508OfAnotherServerIsAnOrdinaryError) {
  const FakeSet set(2, json(R"({"error":{"type":"other","reason":"x"},"status":508})", 508));
  const Master master(taking_turns(), set.table());
  EXPECT_NE(master.search(kHopsQuery).status, 200);
  EXPECT_EQ(set.asked(), 2u);
}

}  // namespace
}  // namespace karmad::test
