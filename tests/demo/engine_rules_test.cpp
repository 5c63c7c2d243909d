// What a merge of several search servers has to know of them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "demo/data/corpus.hpp"
#include "tests/demo/shop.hpp"

namespace karmad::demo {
namespace {

auto rule_documents() {
  return whole_shop().index().documents();
}

std::string rule_aggregated(std::string_view aggregation, const Engine& engine = whole_shop()) {
  return aggregation_of(ask(engine, with_aggregation(aggregation)), "a");
}

/// The first `count` values of `member` of `meta` in this order of the hits.
std::vector<std::string> sorted_members(std::string_view sort, const char* member, int count) {
  const auto answer = json_of(ask(
      whole_shop(), fmt::format(R"({{"table":"products","sort":{},"limit":{},"_source":["meta"]}})",
                                sort, count)));
  std::vector<std::string> out;
  for (const auto& hit : answer["hits"]["hits"].GetArray()) {
    const auto& meta = hit["_source"]["meta"];
    out.push_back(meta.HasMember(member) ? std::to_string(meta[member].GetInt64()) : "");
  }
  return out;
}

TEST(EngineRules, JsonHasInnerObjectsAndNumbersOfBothKinds) {
  const auto answer =
      ask(whole_shop(), R"({"table":"products","limit":1,"sort":["id"],"_source":["meta"]})");
  const auto& first = rule_documents()[0];
  const auto height = (*first.meta)["size"]["h"].GetDouble();
  EXPECT_NE(answer.body.find(fmt::format(R"("h":{:.6f}}}}}}})", height)), std::string::npos)
      << answer.body;
  const auto json = json_of(answer);
  EXPECT_TRUE(json["hits"]["hits"][0]["_source"]["meta"]["size"]["w"].IsInt64());
}

TEST(EngineRules, JsonSortsAsTextAndWhatIsMissingComesFirst) {
  const auto expected = sorted_members(R"([{"meta.s":"asc"}])", "s", 1000);
  EXPECT_TRUE(std::is_sorted(expected.begin(), expected.end()));
  EXPECT_EQ(expected.front(), "");
  const std::set<std::string> all(expected.begin(), expected.end());
  EXPECT_TRUE(all.contains("10"));
  EXPECT_EQ(sorted_members(R"([{"meta.s":"desc"}])", "s", 1).front(), "9");
}

TEST(EngineRules, KeysInJsonAreOrderedAsTextAndDifferByCase) {
  const auto sizes =
      rule_aggregated(R"({"terms":{"field":"meta.s","size":9},"sort":[{"meta.s":"asc"}]})");
  std::vector<std::size_t> places;
  for (const auto* key : {"10", "100", "1000", "11", "250", "50", "6", "9"})
    places.push_back(sizes.find(fmt::format(R"("key":{},)", key)));
  EXPECT_TRUE(std::is_sorted(places.begin(), places.end())) << sizes;
  const auto widths = rule_aggregated(R"({"histogram":{"field":"meta.size.w","interval":500}})");
  EXPECT_LT(widths.find(R"("key":500,)"), widths.find(R"("key":1000,)")) << widths;
  const auto colors = rule_aggregated(R"({"terms":{"field":"meta.color"}})");
  EXPECT_NE(colors.find(R"("key":"Red")"), std::string::npos);
  EXPECT_NE(colors.find(R"("key":"red")"), std::string::npos);
}

TEST(EngineRules, SumsOfWholeNumbersWrapAndAveragesDoNot) {
  std::uint64_t sum = 0;
  double real = 0;
  for (const auto& document : rule_documents()) {
    sum += static_cast<std::uint64_t>(document.stock);
    real += static_cast<double>(document.stock);
  }
  ASSERT_GT(real, 0x1p63);
  EXPECT_EQ(rule_aggregated(R"({"sum":{"field":"stock"}})"),
            fmt::format(R"({{"value":{}}})", static_cast<std::int64_t>(sum)));
  const auto json = json_of(ask(whole_shop(), with_aggregation(R"({"avg":{"field":"stock"}})")));
  EXPECT_NEAR(json["aggregations"]["a"]["value"].GetDouble(), real / 4000, 1e11);
}

TEST(EngineRules, FloatsAreAddedAsFloatsAndSomePrintAlike) {
  float sum = 0;
  std::set<float> alike;
  for (const auto& document : rule_documents()) {
    sum += document.weight;
    if (fmt::format("{:.6f}", document.weight) == "0.250000") alike.insert(document.weight);
  }
  const auto answer = ask(whole_shop(), with_aggregation(R"({"sum":{"field":"weight"}})"));
  EXPECT_NE(answer.body.find(fmt::format(R"("value":{:.6f}}})", sum)), std::string::npos)
      << answer.body;
  EXPECT_EQ(alike.size(), 4U);
}

TEST(EngineRules, TheAverageOfAJsonMemberIsAlwaysZero) {
  const auto json = json_of(ask(whole_shop(), with_aggregation(R"({"avg":{"field":"meta.s"}})")));
  EXPECT_EQ(json["aggregations"]["a"]["value"].GetDouble(), 0);
}

TEST(EngineRules, TermsWithoutSizeTakeTheLimitOfTheHits) {
  const auto buckets = [](std::string_view rest) {
    const auto answer = json_of(ask(
        whole_shop(),
        fmt::format(R"({{"table":"products","aggs":{{"a":{{"terms":{{"field":"price"}}}}}}{}}})",
                    rest)));
    return answer["aggregations"]["a"]["buckets"].Size();
  };
  EXPECT_EQ(buckets(R"(,"limit":3)"), 3U);
  EXPECT_EQ(buckets(R"(,"size":33)"), 33U);
  EXPECT_EQ(buckets(""), 20U);
}

struct Pages {
  std::vector<std::string> keys;  ///< of all buckets, in their order
  std::size_t documents = 0;
  std::size_t pages = 0;
};

/// Pages through a composite of `meta.n` and `brand` until a page is empty, or 50 pages.
Pages page_through(const Engine& engine, std::string_view sort) {
  Pages out;
  for (std::string after; out.pages < 50; ++out.pages) {
    const auto body = with_aggregation(fmt::format(
        R"({{"composite":{{"size":7,"sources":[{{"x":{{"terms":{{"field":"meta.n"}}}}}},)"
        R"({{"y":{{"terms":{{"field":"brand"}}}}}}]{}}}{}}})",
        after, sort));
    const auto json = json_of(ask(engine, body));
    const auto& answer = json["aggregations"]["a"];
    if (answer["buckets"].Empty()) break;
    for (const auto& bucket : answer["buckets"].GetArray()) {
      out.keys.push_back(
          fmt::format("{} {}", bucket["key"]["x"].GetInt64(), bucket["key"]["y"].GetString()));
      out.documents += bucket["doc_count"].GetUint64();
    }
    after = fmt::format(R"(,"after":{{"x":{},"y":"{}"}})", answer["after_key"]["x"].GetInt64(),
                        answer["after_key"]["y"].GetString());
  }
  return out;
}

TEST(EngineRules, CompositesPageInAnOrderThatEachShardHasForItself) {
  auto left = page_through(half_shop(0), "");
  auto right = page_through(half_shop(1), "");
  EXPECT_EQ(left.keys.size(), 120U);
  EXPECT_NE(left.keys, right.keys);
  EXPECT_EQ(left.documents + right.documents, 4000U);
  std::sort(left.keys.begin(), left.keys.end());
  std::sort(right.keys.begin(), right.keys.end());
  EXPECT_EQ(left.keys, right.keys);
}

TEST(EngineRules, CompositesPageInTheOrderOfTheColumnsAskedFor) {
  const auto pages = page_through(whole_shop(), R"(,"sort":[{"brand":"desc"},{"meta.n":"asc"}])");
  ASSERT_EQ(pages.keys.size(), 120U);
  EXPECT_EQ(pages.documents, 4000U);
  EXPECT_EQ(pages.keys[0], "0 lumen");
  EXPECT_EQ(pages.keys[9], "9 lumen");
  EXPECT_EQ(pages.keys[119], "9 Aurora");
}

TEST(EngineRules, ACompositeAfterAnUnknownGroupStartsAtTheFirst) {
  const auto page = [](std::string_view after) {
    return rule_aggregated(fmt::format(
        R"({{"composite":{{"size":2,"sources":[{{"x":{{"terms":{{"field":"brand"}}}}}}]{}}},)"
        R"("sort":[{{"brand":"asc"}}]}})",
        after));
  };
  EXPECT_EQ(page(R"(,"after":{"x":"Ca"})"), page(""));
  EXPECT_NE(page(R"(,"after":{"x":"bluebird"})").find("Cobalt"), std::string::npos);
}

TEST(EngineRules, CompositesHaveAThousandBucketsByDefault) {
  const auto json = json_of(
      ask(whole_shop(),
          with_aggregation(R"({"composite":{"sources":[{"x":{"terms":{"field":"id"}}}]}})")));
  EXPECT_EQ(json["aggregations"]["a"]["buckets"].Size(), 1000U);
}

TEST(EngineRules, OptionsAreReadLast) {
  const auto ids = [](std::string_view rest) {
    return ids_of(ask(whole_shop(), fmt::format(R"({{"table":"products",{}}})", rest))).size();
  };
  EXPECT_EQ(ids(R"("options":{"max_matches":3},"max_matches":9,"limit":9)"), 3U);
  EXPECT_EQ(ids(R"("max_matches":9,"limit":9)"), 9U);
}

TEST(EngineRules, TableNamesHaveNoCase) {
  EXPECT_EQ(ask(whole_shop(), R"({"table":"PRODUCTS","limit":1})").status, 200);
}

TEST(EngineRules, MistakesHaveTheTextsOfThePeer) {
  struct Case {
    std::string_view rest;
    int status;
    std::string_view words;
  };
  for (const auto& [rest, status, words] : {
           Case{R"("sort":["tags"])", 500, "order by MVA is undefined"},
           Case{R"("sort":["price","ts","rating","brand","seller","id"])", 500,
                "too many sort-by attributes; maximum count is 5"},
           Case{R"("sort":[{"price":{"order":"asc","missing":"_last"}}])", 400,
                R"(\"missing\" property not supported)"},
           Case{R"("aggs":{"a":{"sum":{"field":"meta.n"}}})", 500,
                "ambiguous attribute type 'meta.n', use INTEGER()"},
           Case{R"("aggs":{"a":{"min":{"field":"meta.n"}}})", 500, "ambiguous attribute type"},
           Case{R"("aggs":{"a":{"avg":{"field":"tags"}}})", 500,
                "can not aggregate non-scalar attribute 'tags'"},
           Case{R"("aggs":{"a":{"sum":{"field":"brand"}}})", 500, "non-scalar attribute 'brand'"},
           Case{R"("aggs":{"a":{"terms":{"field":"tags"},"sort":[{"tags":"asc"}]}})", 500,
                "order by MVA is undefined"},
           Case{R"("aggs":{"a":{"composite":{"sources":[{"x":{"terms":{"field":"brand"}}}]},)"
                R"("sort":[{"x":"asc"}]}})",
                500, "sort-by attribute 'x' not found"},
           Case{R"("aggs":{"a":{"composite":{"sources":[{"x":{"terms":{"field":"tags"}}}]}}})", 500,
                "MVA values can't be used in multiple group-by"},
           Case{R"("expressions":{"price":"1+1"})", 500, "alias 'price' must be unique"},
           Case{R"("query":{"regexp":{"brand":"[a"}})", 500, "RE2: error parsing '[a'"},
           Case{R"("knn":{"field":"v","k":3,"query_vector":[1]})", 500,
                "requested KNN search attribute 'v' not found"},
       }) {
    const auto answer = ask(whole_shop(), fmt::format(R"({{"table":"products",{}}})", rest));
    EXPECT_EQ(answer.status, status) << rest << answer.body;
    EXPECT_NE(answer.body.find(words), std::string::npos) << answer.body;
  }
  EXPECT_EQ(ask(whole_shop(), R"({"table":"products","query":{"regexp":{"brand":"^A.r"}}})").status,
            200);
}

TEST(EngineRules, AnotherSpreadIsAnotherDistribution) {
  std::size_t moved = 0;
  for (const auto& document : rule_documents()) {
    EXPECT_LT(part_of(document.id, 3, 7), 3U);
    moved += part_of(document.id, 3, 7) != part_of(document.id, 3);
  }
  EXPECT_GT(moved, 2000U);
}

}  // namespace
}  // namespace karmad::demo
