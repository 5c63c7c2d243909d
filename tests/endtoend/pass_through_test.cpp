// A table with one shard: the agent's own answer, whatever was asked. With several: what cannot be
// merged is refused, and no agent is bothered with it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/cluster.hpp"
#include "tests/support/fake_mirror.hpp"

namespace karmad::test {
namespace {

Reaction answer(const std::string&) {
  return nothing_found();
}

std::string with_table(std::string text, const std::string& name) {
  for (auto at = text.find("TABLE"); at != text.npos; at = text.find("TABLE"))
    text.replace(at, 5, name);
  return text;
}

TEST(OneShard, AnswersInTheAgentsOwnWordsWithTheTableRenamed) {
  const DemoAgent agent("0/1", "demo", 0, 600);
  Master master("ha_ping_interval = 50ms",
                fmt::format("table mine {{\n type = distributed\n agent = {}:products\n}}\n",
                            agent.address()));
  ASSERT_TRUE(master.ready());
  struct {
    std::string path;
    std::string body;
  } const asked[] = {
      {"/search", R"({"table":"TABLE"})"},
      {"/search", R"({"index":"TABLE","query":{"match":{"title":"lamp"}},"limit":3})"},
      {"/json/search", R"({ "limit":2, "table" : "TABLE" , "sort":["price"]})"},
      {"/search", R"({"table":"TABLE","limit":0,"aggs":{"p":{"percentiles":{"field":"price"}}}})"},
      {"/search", R"({"table":"TABLE","profile":true,"limit":1})"},
      {"/search", R"({"table":"TABLE","query":{"nonsense":1}})"},
      {"/search", R"({"table":"TABLE","limit":"three"})"},
      {"/sql", "query=SELECT id, price FROM TABLE WHERE MATCH('lamp') ORDER BY price ASC LIMIT 5"},
      {"/sql?mode=raw", "query=SELECT id, price FROM TABLE LIMIT 5"},
      {"/sql?mode=raw", "SELECT id, price FROM TABLE LIMIT 5"},
      {"/cli_json", "SELECT id, brand FROM TABLE LIMIT 5"},
      {"/cli", "SELECT id, brand FROM TABLE LIMIT 5"},
  };
  for (const auto& [path, body] : asked) {
    const auto own = post(agent.port(), path, with_table(body, "products"));
    const auto passed = post(master.port(), path, with_table(body, "mine"));
    EXPECT_EQ(passed.status, own.status) << path << ' ' << body;
    EXPECT_EQ(without_took(passed.body), without_took(own.body)) << path << ' ' << body;
  }
  EXPECT_EQ(master.number("/tables/0/shards/0/mirrors/0/errors_in_a_row"), 0);
}

TEST(SeveralShards, RefuseWhatCannotBeMergedAndAskNoMirror) {
  const FakeMirror one(answer);
  const FakeMirror two(answer);
  const Master master(
      "ha_ping_interval = 0",
      fmt::format("table t {{\n type = distributed\n agent = {}:p\n agent = {}:p\n}}\n",
                  one.address(), two.address()));
  struct {
    std::string path;
    std::string body;
    int status;
    std::string reason;
  } const asked[] = {
      {"/search", R"({"table":"t","sort":["_random"]})", 400, "_random"},
      {"/search", R"({"table":"t","aggs":{"p":{"percentiles":{"values":[50]}}}})", 400, "field"},
      {"/search", R"({"table":"t","aggs":{"p":{"significant_terms":{"field":"price"}}}})", 400,
       "significant_terms"},
      {"/search", R"({"table":"t","limit":5,"size":6})", 400, "size"},
      {"/search", R"({"table":"t","limit":-1})", 400, "limit"},
      {"/search", R"({"table":"t,b"})", 404, "b"},
      {"/search", R"({"limit":1})", 400, "table"},
      {"/search", R"({"table":"t",)", 400, ""},
      {"/search", R"({"table":"elsewhere"})", 404, "elsewhere"},
      {"/sql", "query=SELECT id FROM t ORDER BY", 400, "offset"},
      {"/cli_json", "SELECT id FROM t WHERE (", 400, "offset"},
  };
  for (const auto& [path, body, status, reason] : asked) {
    const auto refused = post(master.port(), path, body);
    EXPECT_EQ(refused.status, status) << path << ' ' << body << ' ' << refused.body;
    EXPECT_NE(refused.body.find("error"), std::string::npos) << refused.body;
    EXPECT_NE(refused.body.find(reason), std::string::npos) << body << ' ' << refused.body;
  }
  EXPECT_EQ(one.requests() + two.requests(), 0u);
}

/// A search answer with these hits.
Reaction hits(const std::string& of, int total) {
  return json(fmt::format(R"({{"took":1,"timed_out":false,"hits":{{"total":{},)"
                          R"("total_relation":"eq","hits":[{}]}}}})",
                          total, of));
}

/// A search answer with these buckets of the aggregation `p`.
Reaction buckets(const std::string& list) {
  return json(fmt::format(R"({{"took":1,"timed_out":false,"hits":{{"total":3,)"
                          R"("total_relation":"eq","hits":[]}},)"
                          R"("aggregations":{{"p":{{"buckets":[{}]}}}}}})",
                          list));
}

TEST(SeveralShards, ComputePercentilesOrRefuseThemWithoutBlamingAMirror) {
  const FakeMirror one([](const std::string& head) {
    const bool texts = head.find("brand") != std::string::npos;
    return buckets(texts ? R"({"key":"x","doc_count":1})" : R"({"key":7,"doc_count":3})");
  });
  const FakeMirror two([](const std::string&) {
    return buckets(R"({"key":4,"doc_count":1},{"key":9,"doc_count":1})");
  });
  const Master master(
      "ha_ping_interval = 0",
      fmt::format("table t {{\n type = distributed\n agent = {}:p\n agent = {}:p\n}}\n",
                  one.address(), two.address()));
  const auto asked = [&](std::string_view field) {
    return post(master.port(), "/search",
                fmt::format(R"({{"table":"t","limit":0,"aggs":{{"p":{{"percentiles":)"
                            R"({{"field":"{}","values":[0,50],"keyed":true}}}}}}}})",
                            field));
  };
  const auto computed = asked("price");
  EXPECT_EQ(computed.status, 200);
  EXPECT_TRUE(computed.body.contains(R"("p":{"values":{"0":4,"50":7}})")) << computed.body;
  const auto refused = asked("brand");
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(refused.body,
            R"({"error":"aggregation \"p\": its field has values that are no numbers"})");
  EXPECT_EQ(one.requests() + two.requests(), 4u);
  for (const int shard : {0, 1})
    EXPECT_EQ(master.number(fmt::format("/tables/0/shards/{}/mirrors/0/errors_in_a_row", shard)),
              0);
}

// What the demo's catalogue does not have.
TEST(SeveralShards, MergeIdsOfEveryKindAndShowADocumentOnce) {
  const FakeMirror one([](const std::string&) {
    return hits(R"({"_id":7,"_score":9,"_source":{"from":1}},)"
                R"({"_id":18446744073709551614,"_score":5,"_source":{}},)"
                R"({"_id":"b","_score":5,"_source":{}})",
                3);
  });
  const FakeMirror two([](const std::string&) {
    return hits(R"({"_id":7,"_score":9,"_source":{"from":2}},)"
                R"({"_id":18446744073709551615,"_score":5,"_source":{}},)"
                R"({"_id":"a","_score":5,"_source":{}})",
                3);
  });
  const Master master(
      "ha_ping_interval = 0",
      fmt::format("table t {{\n type = distributed\n agent = {}:p\n agent = {}:p\n}}\n",
                  one.address(), two.address()));
  EXPECT_EQ(without_took(master.search(R"({"table":"t"})").body),
            R"({"took":_,"timed_out":false,"hits":{"total":5,"total_relation":"eq","hits":[)"
            R"({"_id":7,"_score":9,"_source":{"from":2}},)"
            R"({"_id":18446744073709551614,"_score":5,"_source":{}},)"
            R"({"_id":18446744073709551615,"_score":5,"_source":{}},)"
            R"({"_id":"a","_score":5,"_source":{}},)"
            R"({"_id":"b","_score":5,"_source":{}}]}})");
}

// A page of 20 from 8 shards moves 160 hits, not 8000 (Manticore's defect g.10).
TEST(SeveralShards, AreAskedForNoMoreThanThePageNeeds) {
  const FakeMirror one(answer);
  const FakeMirror two(answer);
  const Master master(
      "ha_ping_interval = 0",
      fmt::format("table t {{\n type = distributed\n agent = {}:p\n agent = {}:q\n}}\n",
                  one.address(), two.address()));
  EXPECT_EQ(master.search(R"({"table":"t","limit":20,"offset":40})").status, 200);
  ASSERT_EQ(one.requests(), 1u);
  ASSERT_EQ(two.requests(), 1u);
  for (const auto& seen : {one.seen()[0], two.seen()[0]}) {
    EXPECT_NE(seen.find(R"("limit":60)"), std::string::npos) << seen;
    EXPECT_NE(seen.find(R"("offset":0)"), std::string::npos) << seen;
  }
  EXPECT_NE(one.seen()[0].find(R"("table":"p")"), std::string::npos);
  EXPECT_NE(two.seen()[0].find(R"("table":"q")"), std::string::npos);
}

TEST(Connections, AreKeptAndSharedUnlessTheLimitIsNone) {
  for (const auto& [limit, connections] :
       {std::pair{"", 1u}, std::pair{"persistent_connections_limit = 1", 1u},
        std::pair{"persistent_connections_limit = 0", 10u}}) {
    const FakeMirror mirror(answer);
    const Master master(
        fmt::format("workers = 1\n ha_ping_interval = 0\n {}", limit),
        fmt::format("table t {{\n type = distributed\n agent = {}:p\n}}\n", mirror.address()));
    for (int i = 0; i < 10; ++i) EXPECT_EQ(master.search(R"({"table":"t"})").status, 200);
    EXPECT_EQ(mirror.connections(), connections) << limit;
  }
}

}  // namespace
}  // namespace karmad::test
