// Requests that name several tables, and paths with a table in them, on the built program.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/cluster.hpp"
#include "tests/support/fake_mirror.hpp"
#include "tests/support/role_set.hpp"

namespace karmad::test {
namespace {

constexpr std::string_view kListedHit =
    R"({{"took":0,"timed_out":false,"hits":{{"total":1,"total_relation":"eq","hits":)"
    R"([{{"_id":{},"_score":1,"_source":{{}}}}]}}}})";

std::string body_sent(const std::string& request) {
  return request.substr(request.find("\r\n\r\n") + 4);
}
std::string target_sent(const std::string& request) {
  return request.substr(0, request.find(" HTTP/"));
}

/// Two tables of one shard each, whose mirrors call them `m1` and `m2`, and a route for the rest.
struct TwoTables {
  FakeMirror one{[](const std::string&) { return json(fmt::format(kListedHit, 1)); }};
  FakeMirror two{[](const std::string&) { return json(fmt::format(kListedHit, 2)); }};
  FakeMirror web{[](const std::string&) { return json(R"({"web":1})"); }};
  Master master{
      "ha_ping_interval = 0",
      fmt::format(
          "table one {{\n type = distributed\n updates = any\n agent = {}:m1\n}}\n"
          "table two {{\n type = distributed\n agent = {}:m2\n}}\n"
          "table web {{\n type = distributed\n dialect = http\n route = /\n agent = {}\n}}\n",
          one.address(), two.address(), web.address())};
};

TEST(TableLists, AreSearchedAsOneTableAndEachMirrorGetsItsName) {
  const TwoTables at;
  for (const auto* list : {"one,two", "*", "_all", "t*, one", "ONE, Two,one"}) {
    const auto answer = at.master.search(fmt::format(R"({{"table":"{}"}})", list));
    EXPECT_EQ(answer.status, 200) << answer.body;
    EXPECT_NE(answer.body.find(R"("total":2)"), std::string::npos) << list << answer.body;
    EXPECT_NE(body_sent(at.one.seen().back()).find(R"("table":"m1")"), std::string::npos);
    EXPECT_NE(body_sent(at.two.seen().back()).find(R"("table":"m2")"), std::string::npos);
  }
  const auto one = at.one.requests();
  EXPECT_EQ(at.master.search(R"({"table":"on*"})").status, 200);
  EXPECT_EQ(at.one.requests(), one + 1);
  const auto traced = at.master.search(R"({"table":"two,one"})", "X-Karmad-Trace: 1\r\n");
  EXPECT_NE(traced.fields.at("x-karmad-trace").find("two,one"), std::string::npos);
}

TEST(TableLists, ErrorsNameTheTableOfTheShardThatFails) {
  const FakeMirror one([](const auto&) { return json(fmt::format(kListedHit, 1)); });
  const FakeMirror broken([](const auto&) { return json(R"({"error":"out of order"})", 500); });
  const Master master("ha_ping_interval = 0",
                      fmt::format("table one {{\n type = distributed\n agent = {0}\n}}\n"
                                  "table two {{\n type = distributed\n agent = {0}:a\n"
                                  " agent = {1}\n}}\n",
                                  one.address(), broken.address()));
  const auto answer = master.search(R"({"table":"*"})");
  EXPECT_TRUE(answer.body.contains("\"reason\":\"table two: shard 2: agent ")) << answer.body;
}

TEST(TableLists, WithAnUnknownNameOrForAnUpdateReachNoMirror) {
  const TwoTables at;
  const auto unknown = at.master.search(R"({"table":"one,nosuch"})");
  EXPECT_EQ(unknown.status, 404);
  EXPECT_NE(unknown.body.find("no table 'nosuch'"), std::string::npos) << unknown.body;
  EXPECT_EQ(at.master.search(R"({"table":"one,m2"})").status, 404);  // a mirror's name
  EXPECT_EQ(at.master.search(R"({"table":"one,web"})").status, 404);
  EXPECT_EQ(post(at.master.port(), "/update", R"({"table":"one,two","id":1,"doc":{"a":1}})").status,
            400);
  EXPECT_EQ(post(at.master.port(), "/one,two/_update/1", R"({"doc":{"a":1}})").status, 400);
  EXPECT_EQ(at.one.requests() + at.two.requests(), 0u);
}

TEST(ElasticPaths, AreAnsweredInTheirFormAndRoutesGetTheOtherPaths) {
  const TwoTables at;
  const auto port = at.master.port();
  const auto one = post(port, "/one/_search", "{}");
  EXPECT_EQ(one.status, 200);
  EXPECT_NE(one.body.find(R"("_id":"1","_score":1,"_index":"one","_type":"doc","_version":1)"),
            std::string::npos)
      << one.body;
  EXPECT_EQ(target_sent(at.one.seen().back()), "POST /search");
  const auto both = post(port, "/one%2Ctwo/_search", R"({"size":1})");
  EXPECT_NE(both.body.find(R"("_shards":{"total":2,"successful":2)"), std::string::npos)
      << both.body;
  EXPECT_NE(both.body.find(R"("_id":"1","_score":1,"_index":"one")"), std::string::npos);
  const auto all = post(port, "/t*,one/_search", "{}").body;
  EXPECT_NE(all.find(R"("_id":"2","_score":1,"_index":"two")"), std::string::npos) << all;
  EXPECT_NE(post(port, "/on*/_search", "{}").body.find(R"("_index":"one")"), std::string::npos);
  EXPECT_EQ(get(port, "/one/_search?q=lamp&size=3&sort=id:desc").status, 200);
  EXPECT_EQ(body_sent(at.one.seen().back()),
            R"({"table":"m1","query":{"query_string":"lamp"},"limit":3,"sort":[{"id":"desc"}]})");
  EXPECT_EQ(get(port, "/one/_search?size=all").status, 400);
  EXPECT_EQ(post(port, "/_all/_count", "").body,
            R"({"count":2,"_shards":{"total":2,"successful":2,"skipped":0,"failed":0}})");
  EXPECT_EQ(post(port, "/one/_update/7", R"({"doc":{"price":2}})").status, 200);
  EXPECT_EQ(target_sent(at.one.seen().back()), "POST /m1/_update/7");
  EXPECT_EQ(body_sent(at.one.seen().back()), R"({"doc":{"price":2}})");
  EXPECT_EQ(post(port, "/two/_count/?q=a", "").body,
            R"({"count":1,"_shards":{"total":1,"successful":1,"skipped":0,"failed":0}})");
  EXPECT_EQ(post(port, "/one/_update/7/", R"({"doc":{"price":3}})").status, 200);
  EXPECT_EQ(target_sent(at.one.seen().back()), "POST /m1/_update/7");
  EXPECT_EQ(post(port, "/nosuch/_search", "{}").body, R"({"web":1})");
  EXPECT_EQ(post(port, "/one/_other", "{}").body, R"({"web":1})");
}

TEST(ElasticPaths, BelongToARouteWhereNoTableHasTheDialect) {
  FakeMirror web([](const std::string&) { return json(R"({"web":1})"); });
  const Master master("ha_ping_interval = 0",
                      fmt::format("table web {{\n type = distributed\n dialect = http\n route = /\n"
                                  " updates = any\n agent = {}\n}}\n",
                                  web.address()));
  for (const auto* path : {"/_search", "/_msearch", "/_count", "/_bulk", "/a/_search"})
    EXPECT_EQ(post(master.port(), path, "{}").body, R"({"web":1})") << path;
}

TEST(ElasticPaths, AnswerEachSearchOfAMultiSearch) {
  const TwoTables at;
  const auto answer = post(at.master.port(), "/one/_msearch",
                           "{}\n{\"size\":1}\n{\"index\":\"nosuch\"}\n{}\n"
                           "{\"index\":[\"one\",\"two\"]}\n{}\n");
  EXPECT_EQ(answer.status, 200);
  const auto& body = answer.body;
  EXPECT_NE(body.find(R"("responses":[{)"), std::string::npos) << body;
  EXPECT_NE(body.find(R"("status":404},{)"), std::string::npos) << body;
  EXPECT_NE(body.find(R"("_shards":{"total":2)"), std::string::npos) << body;
  EXPECT_EQ(at.one.requests(), 2u);
  EXPECT_EQ(post(at.master.port(), "/_msearch", "{}\n").status, 400);
}

TEST(ElasticPaths, EachSearchOfAMultiSearchHasItsOwnTime) {
  constexpr int kSlow = 400;
  const FakeMirror slow([](const auto&) { return slowly(std::chrono::milliseconds{400}); });
  const FakeMirror quick([](const auto&) { return nothing_found(); });
  std::string tables;
  for (const auto& [name, mirror] : {std::pair{"slow", &slow}, std::pair{"quick", &quick}})
    tables += fmt::format("table {} {{\n type = distributed\n agent = {}:a\n agent = {}:b\n}}\n",
                          name, mirror->address(), mirror->address());
  const Master master("ha_ping_interval = 0", tables);
  const auto& body = post(master.port(), "/_msearch",
                          "{\"index\":\"quick\"}\n{}\n{\"index\":\"slow\"}\n{}\n"
                          "{\"index\":\"quick\"}\n{}\n")
                         .body;
  const auto took = [&](std::string_view place) { return std::stoi(at(body, std::string(place))); };
  EXPECT_LT(took("/responses/0/took"), kSlow) << body;
  EXPECT_GE(took("/responses/1/took"), kSlow) << body;
  EXPECT_LT(took("/responses/2/took"), kSlow) << body;
  EXPECT_GE(took("/took"), kSlow) << body;
}

TEST(ElasticPaths, AFilterOfAMultiSearchIsAboutTheWholeAnswer) {
  const TwoTables at;
  EXPECT_EQ(post(at.master.port(), "/_msearch?filter_path=responses.*.failed,responses.status",
                 "{\"index\":\"two\"}\n{}\n{\"index\":\"nosuch\"}\n{}\n")
                .body,
            R"({"responses":[{"_shards":{"failed":0},"status":200},{"status":404}]})");
}

TEST(ElasticPaths, ASearchThatMirrorsRefuseDoesNotEndTheOthersOfAMultiSearch) {
  const auto refuse_seven = [](const std::string& request) {
    if (body_sent(request).find("\"size\":7") == std::string::npos)
      return json(fmt::format(kListedHit, 1));
    return json(R"({"error":"unknown column: 'x'"})", 400);
  };
  FakeMirror first(refuse_seven);
  FakeMirror second(refuse_seven);
  const Master master("ha_ping_interval = 0\n workers = 1",
                      fmt::format("table t {{\n type = distributed\n agent = {}\n agent = {}\n}}\n",
                                  first.address(), second.address()));
  const auto& body =
      post(master.port(), "/t/_msearch", "{}\n{\"size\":7}\n{}\n{\"size\":1}\n").body;
  EXPECT_NE(
      body.find(
          R"({"error":{"type":"parse_exception","reason":"unknown column: 'x'"},"status":400},{)"),
      std::string::npos)
      << body;
  EXPECT_NE(body.find(R"("_shards":{"total":2,"successful":2)"), std::string::npos) << body;
  EXPECT_EQ(body.find("not asked"), std::string::npos) << body;
}

TEST(TableLists, OfASelectGiveEachMirrorItsName) {
  const TwoTables at;
  post(at.master.port(), "/sql?mode=raw", "SELECT id FROM one, two ORDER BY id");
  EXPECT_NE(body_sent(at.one.seen().back()).find("FROM m1 ORDER"), std::string::npos);
  EXPECT_NE(body_sent(at.two.seen().back()).find("FROM m2 ORDER"), std::string::npos);
  EXPECT_EQ(post(at.master.port(), "/sql", "SELECT id FROM one, m2").status, 404);
}

}  // namespace
}  // namespace karmad::test
