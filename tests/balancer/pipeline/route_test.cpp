#include <fmt/format.h>

#include <algorithm>

#include "agent/dialect/kinds/dialect_kind.hpp"
#include "tests/balancer/pipeline/asking.hpp"

namespace karmad {
namespace {

struct ARoute : testing::Asking {
  testing::Route route{[](Query& query, const Table& table, const Dialect&) -> Task<Answer> {
    Answer answer;
    answer.body.append(query.request.parsed.read ? "reads " : "writes ").append(table.name);
    co_return answer;
  }};
  Answer post(std::string_view path, std::string_view body) {
    std::string head("POST ");
    head.append(path).append(" HTTP/1.1\r\nHost: h\r\n");
    return ask(route, head, body);
  }
};

TEST_F(ARoute, HandsASearchOnWithItsTable) {
  EXPECT_EQ(post("/search", R"({"table":"t"})").body, "reads t");
}

TEST_F(ARoute, HandsAnUpdateOnAsOne) {
  EXPECT_EQ(post("/insert", R"({"table":"t","doc":{"a":1}})").body, "writes t");
}

TEST_F(ARoute, RefusesWhatNoTableAnswers) {
  EXPECT_EQ(post("/search", R"({"table":"u"})").status, 404);
  EXPECT_EQ(post("/nothing", "{}").status, 404);
}

TEST_F(ARoute, AnswersForItselfWithoutAskingShards) {
  EXPECT_EQ(ask(route, "GET /healthz HTTP/1.1\r\nHost: h\r\n").body, R"({"status":"ok"})");
}

// CO-052: with the current topology, and only once; the former topology stays alive for its
// attempts.
TEST_F(ARoute, PlansAgainOnceWhenAShardMoved) {
  static std::vector<const Topology*> seen;
  seen.clear();
  static Scatter scatter;
  scatter = [](Query& query, const Table&, const Dialect&) -> Task<Answer> {
    seen.push_back(query.topology);
    if (query.former) seen.push_back(query.former);
    query.plan_again = !query.former;
    if (query.plan_again) co_return co_await query.replan(query, scatter);
    co_return Answer{};
  };
  testing::Route moving{scatter};
  const auto before = worker.topology();
  const auto reloading = [this, &moving](Query& query) {
    worker.topology(
        Topology::build(*load_text("table t {\n type = distributed\n agent = b:1:x\n}\n").settings,
                        {.registry = registry, .loops = loops}, nullptr, problems));
    return moving(query);
  };
  ask(reloading, "POST /search HTTP/1.1\r\nHost: h\r\n", R"({"table":"t"})");
  EXPECT_EQ(seen, (std::vector{before.get(), worker.topology().get(), before.get()}));
  EXPECT_EQ(worker.counters[static_cast<std::size_t>(Count::planned_anew)], 1U);
}

// CO-052: those before the one whose shard moved are not carried out again.
TEST_F(ARoute, PlansOneStatementOfAScriptAgain) {
  static std::vector<std::string> seen;
  seen.clear();
  static Scatter scatter;
  scatter = [](Query& query, const Table& table, const Dialect&) -> Task<Answer> {
    seen.emplace_back(query.request.parsed.read ? "reads " : "writes ").append(table.name);
    query.plan_again = !query.former && seen.size() == 2;
    if (query.plan_again) co_return co_await query.replan(query, scatter);
    Answer answer;
    answer.body = fmt::format("[{}]", seen.size());
    co_return answer;
  };
  testing::Route moving{scatter};
  for (const std::string_view after : {"SELECT id FROM t", "SET profiling=1"}) {
    seen.clear();
    const auto answer =
        ask(moving, "POST /sql?mode=raw HTTP/1.1\r\nHost: h\r\n",
            fmt::format("INSERT INTO t (id) VALUES (1); SELECT id FROM t; {}", after));
    EXPECT_EQ(answer.status, 200) << answer.content();
    EXPECT_EQ(seen.size(), after.starts_with("SELECT") ? 4U : 3U);
    EXPECT_EQ(std::ranges::count(seen, "writes t"), 1) << "for each INSERT";
    EXPECT_TRUE(answer.content().starts_with("[1,\n3")) << answer.content();
  }
}

}  // namespace
}  // namespace karmad
