// An answer merged from two shards is, byte by byte, that of one agent that holds everything.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/cluster.hpp"
#include "tests/support/fake_mirror.hpp"

namespace karmad::test {
namespace {

/// What follows `"table":"products",` in a request.
constexpr std::string_view kQueries[] = {
    // Queries of every kind, in the order of the score; ties by id.
    R"("query":{"match_all":{}})",
    R"("query":{"match":{"title":"lamp"}})",
    R"("query":{"match":{"*":"small lamp"}})",
    R"("query":{"match":{"title,body":{"query":"steel kettle","operator":"and"}}})",
    R"("query":{"match_phrase":{"body":"in the garden"}})",
    R"("query":{"match":{"body":"xylophone"}})",
    R"("query":{"match":{"body":"nowhere-to-be-found"}})",
    R"("query":{"query_string":"sturdy oak"})",
    R"("query":{"query_string":"@title (lamp | chair) -small"})",
    R"("query":{"query_string":"café"})",
    R"("query":{"range":{"price":{"gte":100,"lt":120}}})",
    R"("query":{"range":{"rating":{"gt":4.5}}},"sort":["rating"])",
    R"("query":{"equals":{"brand":"Aurora"}},"limit":50)",
    R"q("query":{"equals":{"any(tags)":3}})q",
    R"("query":{"in":{"price":[1,2,3,19,67]}})",
    R"("query":{"in":{"brand":["Cobalt","Granite"]}},"limit":40)",
    R"("query":{"bool":{"must":[{"match":{"title":"chair"}},{"range":{"price":{"lte":200}}}]}})",
    R"("query":{"bool":{"must":[{"match":{"*":"lamp"}}],"must_not":[{"equals":{"brand":"Aurora"}}]}})",
    R"("query":{"bool":{"should":[{"match":{"title":"oak"}},{"match":{"title":"steel"}}]}})",
    R"("query":{"bool":{"filter":[{"equals":{"meta.color":"red"}}]}})",
    R"("query":{"match":{"title":"lamp"}},"track_scores":true)",
    // Sorted, with many ties: few prices, brands, sellers; a page is cut within them.
    R"("sort":["price"])",
    R"("sort":[{"price":"desc"}],"limit":100)",
    R"("sort":[{"price":{"order":"desc"}},"rating"],"limit":60)",
    R"("sort":["brand"],"limit":300)",
    R"("sort":[{"brand":"desc"}],"limit":70)",
    R"("sort":["seller"],"limit":200)",
    R"("sort":[{"seller":"desc"},{"brand":"asc"},{"price":"desc"}],"limit":200)",
    R"("sort":[{"rating":"desc"},{"ts":"asc"}],"limit":50)",
    R"("sort":[{"id":"desc"}],"limit":400)",
    R"("sort":["id"],"limit":20)",
    R"("sort":[{"ts":"desc"}])",
    R"("query":{"match":{"body":"lamp"}},"sort":["_score"],"limit":40)",
    R"("query":{"match":{"body":"lamp"}},"sort":[{"_score":"asc"}],"limit":40)",
    R"("query":{"match":{"body":"lamp"}},"sort":[{"_score":"desc"},{"price":"desc"}],"limit":40)",
    R"("query":{"match":{"body":"lamp"}},"sort":[{"price":"asc"},"_score"],"limit":40)",
    R"("query":{"match":{"body":"lamp"}},"sort":["price"],"track_scores":true)",
    R"("sort":["meta.n","brand"],"limit":80)",
    R"("sort":[{"meta.color":"desc"}],"limit":80)",
    R"("sort":["meta.color","meta.n"],"_source":["title"],"limit":80)",
    R"("sort":"brand")",
    R"("sort":{"price":"desc","brand":"asc"},"limit":30)",
    // Ids that a double cannot hold.
    R"("query":{"range":{"id":{"gt":9007199254740992}}},"sort":["id"],"limit":300)",
    R"("query":{"range":{"id":{"gt":9007199254740992}}},"sort":[{"id":"desc"}],"limit":300)",
    // Pages.
    R"("limit":5,"offset":5)",
    R"("sort":["brand"],"limit":20,"offset":220)",
    R"("sort":["brand"],"limit":20,"offset":990)",
    R"("sort":["price"],"limit":10,"offset":999)",
    R"("sort":["price"],"limit":10,"offset":1000)",
    R"("sort":["price"],"limit":20,"offset":90,"max_matches":100)",
    R"("sort":["price"],"limit":20,"offset":2000,"max_matches":3000)",
    R"("sort":["price"],"limit":20,"offset":1000,"options":{"max_matches":3000})",
    R"("sort":["price"],"limit":20,"max_matches":5,"options":{"max_matches":7})",
    R"("limit":20,"offset":1500,"options":{"max_matches":3000})",
    R"("limit":0)",
    R"("limit":0,"offset":20)",
    R"("size":7,"from":14,"sort":["rating"])",
    R"("query":{"match":{"title":"lamp"}},"limit":20,"offset":600)",
    // What is shown of a hit.
    R"("_source":["title","price"],"sort":["price"])",
    R"("_source":["title"],"sort":[{"price":"desc"},"brand"],"limit":50)",
    R"("_source":"brand","sort":["rating"])",
    R"("_source":{"includes":["title","price"],"excludes":["price"]},"sort":["price"])",
    R"("_source":{"excludes":["body","meta"]},"sort":["seller"],"limit":50)",
    R"("_source":{"excludes":["price"]},"sort":[{"price":"desc"}],"limit":50)",
    R"("_source":["m*"],"sort":["brand"],"limit":50)",
    R"("_source":false)",
    R"("_source":[],"sort":["price"])",
    R"("query":{"match":{"title":"lamp"}},"highlight":{})",
    R"("query":{"match":{"*":"oak"}},"highlight":{"fields":["title"],"pre_tags":"<i>","post_tags":"</i>"},"sort":["price"],"_source":["title"])",
    // Aggregations.
    R"("limit":0,"aggs":{"lowest":{"min":{"field":"price"}},"highest":{"max":{"field":"price"}}})",
    R"("limit":0,"aggs":{"sum":{"sum":{"field":"price"}},"mean":{"avg":{"field":"price"}}})",
    R"("limit":0,"aggs":{"a":{"avg":{"field":"rating"}},"b":{"sum":{"field":"rating"}},"c":{"min":{"field":"rating"}}})",
    R"("limit":0,"aggs":{"brands":{"terms":{"field":"brand"}}})",
    R"("limit":3,"aggs":{"brands":{"terms":{"field":"brand","size":3}},"prices":{"terms":{"field":"price","size":50}}})",
    R"("limit":0,"aggs":{"prices":{"terms":{"field":"price","size":10},"sort":[{"price":"asc"}]}})",
    R"("limit":0,"aggs":{"brands":{"terms":{"field":"brand","size":5},"sort":[{"brand":"desc"}]}})",
    R"q("limit":0,"aggs":{"n":{"terms":{"field":"price","size":10},"sort":[{"count(*)":"desc"}]}})q",
    R"("limit":0,"aggs":{"r":{"range":{"field":"price","ranges":[{"to":50},{"from":50,"to":200},{"from":200}]}}})",
    R"("limit":0,"aggs":{"r":{"range":{"field":"rating","keyed":true,"ranges":[{"to":2.5,"key":"low"},{"from":2.5}]}}})",
    R"("limit":0,"aggs":{"h":{"histogram":{"field":"price","interval":100}}})",
    R"("limit":0,"aggs":{"h":{"histogram":{"field":"rating","interval":0.5,"offset":0.25}}})",
    R"("limit":0,"aggs":{"d":{"date_histogram":{"field":"ts","calendar_interval":"month"}}})",
    R"("limit":0,"aggs":{"d":{"date_histogram":{"field":"ts","fixed_interval":"7d"}}})",
    R"("limit":0,"aggs":{"d":{"date_range":{"field":"ts","ranges":[{"to":"2024-01-15"},{"from":"2024-01-15"}]}}})",
};

TEST(Merge, OfTwoShardsEqualsTheAnswerOfOneAgentWithEverything) {
  DemoAgent a1("0/2", "a1");
  DemoAgent a2("0/2", "a2");
  DemoAgent b1("1/2", "b1");
  DemoAgent b2("1/2", "b2");
  DemoAgent whole("0/1", "whole");
  Master master("ha_strategy = roundrobin\n workers = 2",
                fmt::format("table products {{\n type = distributed\n agent = {}|{}:products\n"
                            " agent = {}|{}:products\n}}",
                            a1.address(), a2.address(), b1.address(), b2.address()));
  ASSERT_TRUE(master.ready());
  static_assert(std::size(kQueries) >= 60);
  for (const auto query : kQueries) {
    const auto body = fmt::format(R"({{"table":"products",{}}})", query);
    const auto expected = post(whole.port(), "/search", body);
    EXPECT_EQ(expected.status, 200) << query << "\n" << expected.body;
    for (int mirrors = 0; mirrors < 2; ++mirrors) {
      const auto answer = master.search(body);
      EXPECT_EQ(answer.status, 200) << query << "\n" << answer.body;
      EXPECT_EQ(without_took(answer.body), without_took(expected.body)) << query;
    }
  }
  for (int shard = 0; shard < 2; ++shard)
    for (int mirror = 0; mirror < 2; ++mirror)
      EXPECT_EQ(master.number(fmt::format("/tables/0/shards/{}/mirrors/{}/since_start/attempts",
                                          shard, mirror)),
                std::size(kQueries));
}

TEST(SumsOfShards, BeyondADoubleAreNullAndTheAnswerStaysJson) {
  const auto shard = [](const std::string&) {
    return json(R"({"took":0,"timed_out":false,"hits":{"total":1,"total_relation":"eq","hits":[]},)"
                R"("aggregations":{"s":{"value":1e308}}})");
  };
  const FakeMirror one(shard);
  const FakeMirror other(shard);
  const Master master(
      "ha_ping_interval = 0",
      fmt::format("table t {{\n type = distributed\n agent = {}:t\n agent = {}:t\n}}\n",
                  one.address(), other.address()));
  const auto answer =
      master.search(R"({"table":"t","limit":0,"aggs":{"s":{"sum":{"field":"price"}}}})");
  EXPECT_EQ(answer.status, 200);
  EXPECT_TRUE(answer.body.contains(R"("s":{"value":null})")) << answer.body;
}

}  // namespace
}  // namespace karmad::test
