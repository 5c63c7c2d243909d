// Searches for vectors, hybrid searches and scrolls.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/demo/shop.hpp"

namespace karmad::demo {
namespace {

/// The members of the hits of that name.
std::vector<double> numbers_of(const HttpAnswer& answer, const char* name) {
  const auto json = json_of(answer);
  std::vector<double> out;
  for (const auto& hit : json["hits"]["hits"].GetArray())
    out.push_back(hit.HasMember(name) ? hit[name].GetDouble() : -1);
  return out;
}

std::string nearest(std::string_view more) {
  return fmt::format(R"({{"table":"products","_source":"id","knn":{{"field":"embedding","k":5,)"
                     R"("query_vector":[0.5,0.5,0.5,0.5]{}}}}})",
                     more);
}

TEST(Vectors, TheNearestComeFirstAndAFilterNarrowsTheCandidates) {
  const auto answer = ask(whole_shop(), nearest(""));
  const auto distances = numbers_of(answer, "_knn_dist");
  ASSERT_EQ(distances.size(), 5);
  EXPECT_TRUE(std::ranges::is_sorted(distances));
  EXPECT_EQ(total_of(answer), 5);
  EXPECT_NE(answer.body.find(R"("_score":1,"_knn_dist":0.)"), std::string::npos);
  // The shards together have the nearest of all.
  std::vector<double> parts;
  for (const std::size_t number : {0, 1})
    for (const auto distance : numbers_of(ask(half_shop(number), nearest("")), "_knn_dist"))
      parts.push_back(distance);
  std::ranges::sort(parts);
  parts.resize(5);
  EXPECT_EQ(parts, distances);
  const auto cheap = ask(whole_shop(), nearest(R"(,"filter":{"range":{"price":{"lt":20}}})"));
  EXPECT_EQ(total_of(cheap), 5);
  EXPECT_GT(numbers_of(cheap, "_knn_dist")[4], distances[4]);
}

TEST(Vectors, ADocumentIsNotItsOwnNeighbour) {
  const auto ids = ids_of(ask(whole_shop(), R"({"table":"products","knn":{"field":"embedding",)"
                                            R"("k":3,"doc_id":7}})"));
  EXPECT_EQ(ids.size(), 3);
  EXPECT_EQ(std::ranges::count(ids, 7U), 0);
}

TEST(Vectors, AreRefusedWithoutFieldAndOfAnotherLength) {
  EXPECT_EQ(ask(whole_shop(), R"({"table":"products","knn":{"field":"price","k":3,)"
                              R"("query_vector":[1]}})")
                .status,
            500);
  EXPECT_EQ(ask(whole_shop(), R"({"table":"products","knn":{"field":"embedding","k":3,)"
                              R"("query_vector":[1]}})")
                .status,
            500);
}

TEST(HybridSearches, SumTheRanksOfTheLists) {
  const std::string knn = R"("knn":{"field":"embedding","k":10,"query_vector":[0.5,0.5,0.5,0.5]})";
  const auto answer = ask(
      whole_shop(), fmt::format(R"({{"table":"products","query":{{"match":{{"title":"lamp"}}}},)"
                                R"({},"options":{{"fusion_method":"rrf"}}}})",
                                knn));
  const auto scores = numbers_of(answer, "_hybrid_score");
  ASSERT_GE(scores.size(), 3);
  EXPECT_TRUE(std::ranges::is_sorted(scores, std::ranges::greater{}));
  EXPECT_NEAR(scores[0], 1.0 / 61, 1e-8);
  EXPECT_NEAR(scores[1], 1.0 / 61, 1e-8);
  EXPECT_EQ(ask(whole_shop(), R"({"table":"products","hybrid":{"query":"lamp"}})").status, 200);
}

TEST(Scrolls, ShowEachDocumentOnceInATotalOrder) {
  for (const std::string sort : {R"([{"price":"desc"}])", R"(["_score"])", R"([{"weight":"asc"}])",
                                 R"([{"brand":"asc"},{"id":"desc"}])"}) {
    std::set<std::uint64_t> seen;
    std::size_t pages = 0;
    std::string scroll = "true";
    for (;;) {
      const auto answer = ask(
          whole_shop(),
          fmt::format(R"({{"table":"products","query":{{"match":{{"title":"lamp"}}}},"limit":60,)"
                      R"("sort":{},"_source":"id","options":{{"scroll":{}}}}})",
                      sort, scroll));
      const auto ids = ids_of(answer);
      if (ids.empty()) break;
      for (const auto id : ids) EXPECT_TRUE(seen.insert(id).second) << sort << id;
      const auto json = json_of(answer);
      scroll = fmt::format("\"{}\"", json["scroll"].GetString());
      ASSERT_LT(++pages, 100);
    }
    EXPECT_GT(pages, 2);
    EXPECT_EQ(seen.size(), total_of(ask(whole_shop(), R"({"table":"products",)"
                                                      R"("query":{"match":{"title":"lamp"}}})")))
        << sort;
  }
  // The token is that of the search server.
  const auto answer = ask(whole_shop(), R"({"table":"products","sort":[{"id":"asc"}],"limit":2,)"
                                        R"("_source":["price"],"options":{"scroll":true}})");
  EXPECT_NE(answer.body.find(
                R"("scroll":"eyJvcmRlcl9ieV9zdHIiOiJpZCBhc2MiLCJvcmRlcl9ieSI6W3siYXR0ciI6ImlkIiwi)"
                R"(ZGVzYyI6ZmFsc2UsInZhbHVlIjoyLCJ0eXBlIjoiaW50In1dfQ==")"),
            std::string::npos)
      << answer.body;
}

}  // namespace
}  // namespace karmad::demo
