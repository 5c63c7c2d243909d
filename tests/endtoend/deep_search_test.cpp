// Searches for vectors, scrolls, percolation and completions over two shards.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/support/cluster.hpp"

namespace karmad::test {
namespace {

/// Two shards with two mirrors each behind karmad, and one agent with everything.
struct TwoShards {
  DemoAgent a1{"0/2", "a1"};
  DemoAgent a2{"0/2", "a2"};
  DemoAgent b1{"1/2", "b1"};
  DemoAgent b2{"1/2", "b2"};
  DemoAgent whole{"0/1", "whole"};
  Master master{"ha_strategy = roundrobin\n workers = 2\n agent_retry_count = 1",
                fmt::format("table products {{\n type = distributed\n agent = {}|{}:products\n"
                            " agent = {}|{}:products\n}}",
                            a1.address(), a2.address(), b1.address(), b2.address())};
};

/// The text behind `before` up to a quote; empty if there is none.
std::string quoted_after(const std::string& text, std::string_view before) {
  const auto at = text.find(before);
  if (at == text.npos) return {};
  const auto begin = at + before.size();
  return text.substr(begin, text.find('"', begin) - begin);
}

/// The hits of an answer, as they stand in it.
std::string hits_in(const std::string& answer) {
  constexpr std::string_view kBefore = R"("hits":[)";
  const auto begin = answer.find(kBefore);
  if (begin == answer.npos) return "no hits in " + answer;
  const auto end = answer.find("]}", answer.rfind(R"("_source":)"));
  return answer.substr(begin + kBefore.size(), end - begin - kBefore.size());
}

TEST(DeepSearch, OfTwoShardsEqualsTheAnswerOfOneAgentWithEverything) {
  const TwoShards cluster;
  constexpr std::string_view kQueries[] = {
      R"("knn":{"field":"embedding","query_vector":[0.5,0.5,0.5,0.5],"k":30},"limit":30)",
      R"("knn":{"field":"embedding","query_vector":[0.1,-0.5,0.2,0.8],"k":30},"limit":10,"offset":25)",
      R"("knn":{"field":"embedding","query_vector":[0.5,0.5,0.5,0.5],"k":20},"sort":["price"],"query":{"match":{"title":"lamp"}})",
  };
  for (const auto query : kQueries) {
    const auto body = fmt::format(R"({{"table":"products",{}}})", query);
    const auto expected = post(cluster.whole.port(), "/search", body);
    EXPECT_EQ(expected.status, 200) << query << "\n" << expected.body;
    const auto answer = cluster.master.search(body);
    EXPECT_EQ(without_took(answer.body), without_took(expected.body)) << query;
  }
}

TEST(DeepSearch, ScrollsThroughAllHitsAtTheMirrorsOfTheFirstPage) {
  const TwoShards cluster;
  const std::string search =
      R"({"table":"products","query":{"range":{"price":{"lt":20}}},"_source":["price","brand"],)"
      R"("sort":["brand",{"price":"desc"}])";
  const auto expected = hits_in(
      post(cluster.whole.port(), "/search", search + R"(,"limit":4000,"max_matches":4000})").body);
  std::string all;
  std::string option = "true";
  int pages = 0;
  for (; pages < 100; ++pages) {
    const auto answer = cluster.master.search(
        search + fmt::format(R"(,"limit":37,"options":{{"scroll":{}}}}})", option));
    ASSERT_EQ(answer.status, 200) << answer.body;
    if (answer.body.contains(R"("hits":[])")) break;
    all.append(all.empty() ? "" : ",").append(hits_in(answer.body));
    option = '"' + quoted_after(answer.body, R"("scroll":")") + '"';
  }
  EXPECT_EQ(all, expected);
  EXPECT_GT(pages, 5);
  // Turns about would have divided the pages.
  for (const auto* pair : {"/tables/0/shards/0", "/tables/0/shards/1"}) {
    const auto attempts = [&](int mirror) {
      return cluster.master.number(fmt::format("{}/mirrors/{}/since_start/attempts", pair, mirror));
    };
    EXPECT_EQ(std::max(attempts(0), attempts(1)), pages + 1) << pair;
    EXPECT_EQ(std::min(attempts(0), attempts(1)), 0) << pair;
  }
}

TEST(DeepSearch, AScrollShowsEveryHitOnceInEveryOrder) {
  const TwoShards cluster;
  const std::string search = R"({"table":"products","query":{"range":{"price":{"lt":20}}},)";
  const auto found = post(cluster.whole.port(), "/search", search + R"("limit":1})").body;
  constexpr std::string_view kOrders[] = {
      R"("sort":[{"weight":"desc"}])",
      R"x("expressions":{"e":"sqrt(price)"},"sort":["e"])x",
      R"("expressions":{"c":"meta.color"},"sort":[{"c":"desc"}])",
      R"("expressions":{"n":"meta.note"},"sort":["n"])",
      R"("sort":[{"tags":{"order":"asc","mode":"min"}}])",
      R"("sort":[{"_geo_distance":{"location_anchor":{"lat":52,"lon":13},"location_source":"lat,lon"}}])",
  };
  for (const auto order : kOrders) {
    std::set<std::string> seen;
    std::size_t hits = 0;
    std::string option = "true";
    for (int page = 0; page < 20; ++page) {
      const auto answer = cluster.master.search(
          fmt::format(R"({}"limit":97,{},"options":{{"scroll":{}}}}})", search, order, option));
      ASSERT_EQ(answer.status, 200) << order << answer.body;
      if (answer.body.contains(R"("hits":[])")) break;
      for (auto at = answer.body.find("\"_id\":"); at != answer.body.npos;
           at = answer.body.find("\"_id\":", at + 1), ++hits)
        seen.insert(answer.body.substr(at, answer.body.find(',', at) - at));
      option = '"' + quoted_after(answer.body, R"("scroll":")") + '"';
      ASSERT_GT(option.size(), 2U) << order;
    }
    EXPECT_EQ(seen.size(), hits) << order;
    EXPECT_TRUE(found.contains(fmt::format(R"("total":{},)", hits))) << order << hits;
  }
}

TEST(DeepSearch, AScrollGoesOnAtAnotherMirrorWhenItsOwnIsGone) {
  TwoShards cluster;
  const auto first = cluster.master.search(
      R"({"table":"products","sort":["price"],"limit":5,"options":{"scroll":true}})");
  const auto token = quoted_after(first.body, R"("scroll":")");
  ASSERT_FALSE(token.empty()) << first.body;
  cluster.a1.process().kill();
  cluster.b1.process().kill();
  const auto next = cluster.master.search(
      fmt::format(R"({{"table":"products","limit":5,"options":{{"scroll":"{}"}}}})", token));
  EXPECT_EQ(next.status, 200) << next.body;
  EXPECT_EQ(hits_in(next.body),
            hits_in(post(cluster.whole.port(), "/search",
                         R"({"table":"products","sort":["price"],"limit":5,"offset":5})")
                        .body));
  auto forged = token;
  forged[token.size() / 2] = forged[token.size() / 2] == 'A' ? 'B' : 'A';
  const auto refused = cluster.master.search(
      fmt::format(R"({{"table":"products","limit":5,"options":{{"scroll":"{}"}}}})", forged));
  EXPECT_EQ(refused.status, 400) << refused.body;
  EXPECT_TRUE(refused.body.contains("start again")) << refused.body;
}

// A token continues at every shard behind the page: the hits of a missing shard would be lost.
TEST(DeepSearch, APageOfAScrollThatLacksAShardIsAnErrorAndCanBeAskedAgain) {
  TwoShards cluster;
  const auto first = cluster.master.search(
      R"({"table":"products","sort":["price"],"limit":5,"options":{"scroll":true}})");
  const auto next = fmt::format(R"({{"table":"products","limit":5,"options":{{"scroll":"{}"}}}})",
                                quoted_after(first.body, R"("scroll":")"));
  cluster.a1.control("mode=reset");
  cluster.a2.control("mode=reset");
  EXPECT_EQ(cluster.master.search(R"({"table":"products","sort":["price"],"limit":5})").status,
            200);
  const auto lacking = cluster.master.search(next);
  EXPECT_EQ(lacking.status, 503) << lacking.body;
  EXPECT_TRUE(lacking.body.contains("the request needs all shards and 1 of 2 shards gave"))
      << lacking.body;
  const auto in_sql = post(cluster.master.port(), "/sql?mode=raw",
                           "SELECT id FROM products ORDER BY price ASC OPTION scroll=1");
  EXPECT_EQ(in_sql.status, 503) << in_sql.body;
  cluster.a1.control("mode=ok");
  cluster.a2.control("mode=ok");
  EXPECT_EQ(hits_in(cluster.master.search(next).body),
            hits_in(post(cluster.whole.port(), "/search",
                         R"({"table":"products","sort":["price"],"limit":5,"offset":5})")
                        .body));
}

TEST(DeepSearch, StoredQueriesGoToTheShardOfTheirIdAndMatchAsInOneAgent) {
  const TwoShards cluster;
  const Master master("workers = 2",
                      fmt::format("table products {{\n type = distributed\n updates = all\n"
                                  " shard_by = id\n agent = {}|{}:products\n"
                                  " agent = {}|{}:products\n}}",
                                  cluster.a1.address(), cluster.a2.address(), cluster.b1.address(),
                                  cluster.b2.address()));
  for (int id = 1; id <= 40; ++id) {
    const auto path = fmt::format("/pq/products/doc/{}", id);
    const auto query =
        fmt::format(R"({{"query":{{"match":{{"title":"{}"}}}}}})", id % 3 == 0 ? "shoe" : "bag");
    const auto expected = post(cluster.whole.port(), path, query);
    const auto answer = post(master.port(), path, query);
    EXPECT_EQ(answer.status, 200) << answer.body;
    EXPECT_EQ(answer.body, expected.body);
  }
  const auto repeated = post(master.port(), "/pq/products/doc/7", R"({"query":{"ql":"bag"}})");
  EXPECT_EQ(repeated.status, 409) << repeated.body;

  constexpr std::string_view kPath = "/pq/products/search";
  constexpr std::string_view kDocument =
      R"({"query":{"percolate":{"documents":[{"title":"a bag"},{"title":"a shoe and a bag"}]}}})";
  const auto expected = post(cluster.whole.port(), kPath, kDocument);
  EXPECT_TRUE(expected.body.contains(R"("total":40)")) << expected.body;
  for (int mirror = 0; mirror < 4; ++mirror)  // those of a shard hold the same queries
    EXPECT_EQ(without_took(post(master.port(), kPath, kDocument).body),
              without_took(expected.body));
  EXPECT_EQ(hits_in(post(cluster.a1.port(), kPath, kDocument).body),
            hits_in(post(cluster.a2.port(), kPath, kDocument).body));
  EXPECT_FALSE(post(cluster.b1.port(), kPath, kDocument).body.contains(R"("total":40)"));

  constexpr std::string_view kOfBags = R"({"query":{"ql":"bag"}})";
  // Without an id karmad makes one, for both mirrors of its shard.
  const auto made = post(master.port(), "/pq/products/doc", kOfBags);
  EXPECT_EQ(made.status, 200) << made.body;
  const auto more = post(master.port(), kPath, kDocument);
  EXPECT_TRUE(more.body.contains(R"("total":41)")) << more.body;
  EXPECT_TRUE(more.body.contains(made.body.substr(made.body.find(R"("_id":)"), 20)));
  EXPECT_EQ(hits_in(post(cluster.a1.port(), kPath, kDocument).body),
            hits_in(post(cluster.a2.port(), kPath, kDocument).body));
  EXPECT_EQ(hits_in(post(cluster.b1.port(), kPath, kDocument).body),
            hits_in(post(cluster.b2.port(), kPath, kDocument).body));

  const auto homeless = post(cluster.master.port(), "/pq/products/doc/90", kOfBags);
  EXPECT_EQ(homeless.status, 400);
  EXPECT_TRUE(homeless.body.contains("shard_by = id")) << homeless.body;
}

TEST(DeepSearch, PercolatesADocumentThroughTheQueriesOfAllShards) {
  const TwoShards cluster;
  const auto store = [](const DemoAgent& agent, int id, std::string_view word) {
    const auto answer = post(agent.port(), fmt::format("/pq/products/doc/{}", id),
                             fmt::format(R"({{"query":{{"match":{{"title":"{}"}}}}}})", word));
    EXPECT_EQ(answer.status, 200) << answer.body;
  };
  for (const auto* mirror : {&cluster.a1, &cluster.a2}) {
    store(*mirror, 1, "bag");
    store(*mirror, 9, "shoe");
  }
  for (const auto* mirror : {&cluster.b1, &cluster.b2}) store(*mirror, 4, "bag");
  const auto answer = post(cluster.master.port(), "/pq/products/search",
                           R"({"query":{"percolate":{"document":{"title":"a bag"}}}})");
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_TRUE(answer.body.contains(R"("total":2)")) << answer.body;
  EXPECT_LT(answer.body.find(R"("_id":1)"), answer.body.find(R"("_id":4)")) << answer.body;
}

TEST(DeepSearch, ProceduresOverTwoShardsAnswerAsOneAgentWithEverything) {
  const TwoShards cluster;
  for (const auto* agent : {&cluster.a1, &cluster.a2, &cluster.whole})
    post(agent->port(), "/pq/products/doc/3", R"({"query":{"match":{"title":"bag"}}})");
  for (const auto* agent : {&cluster.b1, &cluster.b2, &cluster.whole})
    post(agent->port(), "/pq/products/doc/8", R"({"query":{"match":{"title":"bag"}}})");
  constexpr std::string_view kCalls[] = {
      "CALL AUTOCOMPLETE('lam', 'products')",
      "CALL SUGGEST('lmap', 'products')",
      "CALL QSUGGEST('red lmap', 'products')",
      "CALL KEYWORDS('red lamp zzz', 'products', 1 AS stats)",
      "CALL SNIPPETS(('a red lamp', 'none'), 'products', 'lamp', '<i>' AS before_match)",
      R"(CALL PQ('products', ('{"title":"a bag"}', '{"title":"x"}'), 1 AS docs, 1 AS query))",
      R"(CALL PQ('products', '{"title":"nothing"}'))"};
  for (const auto* path : {"/sql?mode=raw", "/cli_json"}) {
    for (const auto call : kCalls) {
      const auto expected = post(cluster.whole.port(), path, call);
      const auto answer = post(cluster.master.port(), path, call);
      EXPECT_EQ(expected.status, 200) << call;
      EXPECT_EQ(answer.body, expected.body) << call;
    }
  }
  const auto table = post(cluster.master.port(), "/cli", kCalls[5]);
  EXPECT_TRUE(table.body.contains("| 3  | 1         |")) << table.body;
  EXPECT_TRUE(table.body.contains("| 8  | 1         |")) << table.body;
}

}  // namespace
}  // namespace karmad::test
