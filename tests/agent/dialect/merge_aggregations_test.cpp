#include <fmt/format.h>

#include "tests/agent/dialect/search_support.hpp"

namespace karmad {
namespace {

/// The merged `aggregations` of shards that found `documents` each.
std::string merged_aggs(std::string_view aggs, std::vector<std::string> answers,
                        std::vector<int> documents = {}, DialectSettings settings = {}) {
  documents.resize(answers.size(), 100);
  for (std::size_t s = 0; s < answers.size(); ++s)
    if (!answers[s].empty())
      answers[s] = answer(documents[s], "{\"_id\":1}", ",\"aggregations\":" + answers[s]);
  const auto merged = Searching(settings).merged(
      R"({"table":"t","limit":0,"aggs":)" + std::string(aggs) + "}", answers);
  const auto at = merged.find("\"aggregations\":");
  return at == merged.npos ? merged : merged.substr(at + 15, merged.size() - at - 16);
}

TEST(AggregationPlan, AsksForOneHitSoThatTheTotalCountsDocuments) {
  // The server counts groups when there are no hits and one aggregation.
  const auto asked =
      Searching().asked(R"({"table":"t","limit":0,"aggs":{"m":{"max":{"field":"p"}}}})");
  EXPECT_EQ(asked, R"({"table":"s","limit":1,"aggs":{"m":{"max":{"field":"p"}}}})");
  EXPECT_EQ(Searching().merged(R"({"table":"t","limit":0,"aggs":{"m":{"max":{"field":"p"}}}})",
                               {answer(3, R"({"_id":1})", R"(,"aggregations":{"m":{"value":7}})"),
                                answer(4, R"({"_id":2})", R"(,"aggregations":{"m":{"value":9}})")}),
            whole(7, "", R"(,"aggregations":{"m":{"value":9}})"));
}

TEST(AggregationPlan, AsksForMoreBucketsThanWantedInASpelledOutOrder) {
  const struct {
    std::string_view aggs, asked;
  } cases[] = {
      {R"({"b":{"terms":{"field":"brand"}}})",
       R"x({"b":{"terms":{"field":"brand","size":200},"sort":[{"count(*)":{"order":"desc"}}]}})x"},
      {R"x({"b":{"terms":{"field":"brand","size":2000},"sort":[{"count(*)":{"order":"asc"}}]}})x",
       R"x({"b":{"terms":{"field":"brand","size":2000},"sort":[{"count(*)":{"order":"asc"}}]}})x"},
      {R"({"b":{"terms":{"field":"brand","size":3},"sort":[{"brand":{"order":"desc"}}]}})",
       R"({"b":{"terms":{"field":"brand","size":3},"sort":[{"brand":{"order":"desc"}}]}})"},
      {R"({"b":{"terms":{"field":"brand","size":50,"order":{"_count":"desc"}}}})",
       R"x({"b":{"terms":{"field":"brand","size":500},"sort":[{"count(*)":{"order":"desc"}}]}})x"},
      {R"x({"b":{"terms":{"field":"brand"},"sort":["count(*)",{"brand":"desc"},"_count"]}})x",
       R"x({"b":{"terms":{"field":"brand","size":200},"sort":[{"count(*)":{"order":"asc"}},{"brand":{"order":"desc"}}]}})x"},
      // Keys of a JSON path that differ can tie, so a few more are asked for.
      {R"({"b":{"terms":{"field":"meta.s","size":3},"sort":["meta.s"]}})",
       R"({"b":{"terms":{"field":"meta.s","size":200},"sort":[{"meta.s":{"order":"asc"}}]}})"},
      {R"({"b":{"terms":{"field":"meta['s']","size":1000,"order":{"_key":"desc"}}}})",
       R"({"b":{"terms":{"field":"meta['s']","size":1016},"sort":[{"meta['s']":{"order":"desc"}}]}})"},
      {R"({"b":{"terms":{"field":"brand","size":50},"mode":"max","zeroes":true}})",
       R"x({"b":{"terms":{"field":"brand","size":500},"mode":"max","zeroes":true,"sort":[{"count(*)":{"order":"desc"}}]}})x"},
      // The server refuses a sum of a JSON path, so nothing is added.
      {R"({"a":{"avg":{"field":"meta.p"}}})", R"({"a":{"avg":{"field":"meta.p"}}})"},
      {R"({"h":{"histogram":{"field":"p","interval":0.5}}})",
       R"({"h":{"histogram":{"field":"p","interval":0.5}}})"},
  };
  for (const auto& c : cases) {
    auto asked = asked_aggs(c.aggs);
    if (const auto more = asked.find(",\"max_matches\""); more != asked.npos) asked.resize(more);
    EXPECT_EQ(asked, c.asked);
  }
}

// The server refuses to order by an attribute that has several values, and karmad does not know
// which have.
TEST(AggregationPlan, OrdersByTheKeyOnlyWhenTheClientDoes) {
  EXPECT_EQ(
      asked_aggs(R"({"b":{"terms":{"field":"tags","size":1000}}})"),
      R"x({"b":{"terms":{"field":"tags","size":1000},"sort":[{"count(*)":{"order":"desc"}}]}})x");
}

TEST(AggregationPlan, TakesTheLimitOfTheSearchForTermsWithoutASize) {
  const std::string buckets =
      R"({"b":{"buckets":[{"key":1,"doc_count":9},{"key":2,"doc_count":8},{"key":3,"doc_count":7}]}})";
  const auto merged = [&](std::string_view search) {
    return Searching().merged(
        R"({"table":"t",)" + std::string(search) + R"("aggs":{"b":{"terms":{"field":"p"}}}})",
        {answer(0, "", ",\"aggregations\":" + buckets)});
  };
  EXPECT_EQ(
      merged("\"limit\":2,"),
      whole(
          0, "",
          R"(,"aggregations":{"b":{"buckets":[{"key":1,"doc_count":9},{"key":2,"doc_count":8}]}})"));
  EXPECT_EQ(merged("\"size\":1,"),
            whole(0, "", R"(,"aggregations":{"b":{"buckets":[{"key":1,"doc_count":9}]}})"));
  // By default, and where there are no hits to go by, 20.
  EXPECT_EQ(merged(""), whole(0, "", ",\"aggregations\":" + buckets));
  EXPECT_EQ(merged("\"limit\":0,"), whole(0, "", ",\"aggregations\":" + buckets));
  const auto asked =
      Searching().asked(R"({"table":"t","limit":300,"aggs":{"b":{"terms":{"field":"p"}}}})");
  EXPECT_NE(asked.find("\"size\":1000"), std::string::npos) << asked;
}

TEST(AggregationPlan, RaisesMaxMatchesToTheBucketsItAsksFor) {
  const auto asked = [](std::string_view size, std::string_view more) {
    return Searching().asked(R"({"table":"t","limit":0,"aggs":{"b":{"terms":{"field":"p","size":)" +
                             std::string(size) + "}}}" + std::string(more) + "}");
  };
  EXPECT_EQ(asked("5", "").find("max_matches"), std::string::npos);
  EXPECT_NE(asked("5000", "").find("\"max_matches\":5000"), std::string::npos);
  EXPECT_NE(asked("50", ",\"max_matches\":7").find("\"max_matches\":500"), std::string::npos);
}

TEST(AggregationPlan, RefusesWhatCannotBeMergedWithTheReason) {
  const struct {
    std::string_view aggs, reason;
  } cases[] = {
      {R"([])", "must be an object"},
      {R"({"a":7})", "must be an object"},
      {R"({"a":{}})", "has no kind"},
      {R"({"a":{"terms":{"field":"b"},"aggs":{}}})", "nested"},
      {R"({"a":{"mad":{"field":"b"}}})", "mad is not known"},
      {R"({"a":{"significant_terms":{"field":"b"}}})", "cannot be merged"},
      {R"({"a":{"count":{"field":"b"}}})", "count is not known"},
      {R"({"a":{"terms":{"field":"b"},"max":{"field":"b"}}})", "max is not known"},
      {R"({"a":{"terms":{}}})", "has no field"},
      {R"({"a":{"terms":{"field":"b","size":0}}})", "positive integer"},
      {R"({"a":{"terms":{"field":"b"},"sort":["rating"]}})", "not by \"rating\""},
      {R"({"a":{"terms":{"field":"b"},"sort":[{"b":"up"}]}})", "\"asc\" or \"desc\""},
      {R"({"a":{"range":{"field":"b"}}})", "has no ranges"},
      {R"({"a":{"composite":{"sources":[]}}})", "has no sources"},
      {R"({"a":{"composite":{"sources":[7]}}})", "a source must be"},
      {R"({"a":{"min":{"field":"b"}},"a":{"min":{"field":"b"}}})", "given twice"},
  };
  for (const auto& c : cases) {
    const auto asked = asked_aggs(c.aggs);
    EXPECT_TRUE(asked.starts_with("refused: ")) << c.aggs;
    EXPECT_NE(asked.find(c.reason), std::string::npos) << asked;
  }
}

TEST(MergedMetric, IsThatOfTheWhole) {
  const std::string_view aggs =
      R"({"mn":{"min":{"field":"p"}},"mx":{"max":{"field":"p"}},"sm":{"sum":{"field":"p"}}})";
  EXPECT_EQ(
      merged_aggs(aggs, {R"({"mn":{"value":1.50},"mx":{"value":9},"sm":{"value":4}})",
                         R"({"mn":{"value":-2},"mx":{"value":9.000001},"sm":{"value":2.25}})"}),
      R"({"mn":{"value":-2},"mx":{"value":9.000001},"sm":{"value":6.25}})");
}

TEST(MergedMetric, IsNullWhereNoDoubleHoldsIt) {
  const auto sum = [](std::string_view one, std::string_view other) {
    const auto shard = [](std::string_view value) {
      return R"({"s":{"value":)" + std::string(value) + "}}";
    };
    return merged_aggs(R"({"s":{"sum":{"field":"p"}}})", {shard(one), shard(other)});
  };
  const auto is = [](std::string_view value) {
    return R"({"s":{"value":)" + std::string(value) + "}}";
  };
  const auto large = "1" + std::string(308, '0') + ".0";
  EXPECT_EQ(sum("1e308", "1e308"), is("null"));
  EXPECT_EQ(sum("-1e308", "-1e308"), is("null"));
  EXPECT_EQ(sum(large, large), is("null"));
  EXPECT_EQ(sum("1e999", "-1e999"), is("null"));  // no number at all
  EXPECT_EQ(sum("1e308", "-1e308"), is("0"));
  EXPECT_EQ(sum("1e307", "1e307"), is("2e+307"));
  EXPECT_LT(sum("0." + std::string(100'000, '1'), "1").size(), 500U);
}

TEST(MergedMetric, SumsIntegersBeyondSixtyFourBitsExactly) {
  EXPECT_EQ(merged_aggs(R"({"s":{"sum":{"field":"p"}}})",
                        {R"({"s":{"value":18446744073709551615}})", R"({"s":{"value":2}})"}),
            R"({"s":{"value":18446744073709551617}})");
}

TEST(MergedMetric, WeighsMeansByTheDocumentsBehindThem) {
  const std::string_view aggs = R"({"a":{"avg":{"field":"p"}}})";
  const auto shard = [](std::string_view mean) {
    return R"({"a":{"value":)" + std::string(mean) + "}}";
  };
  EXPECT_EQ(merged_aggs(aggs, {shard("10.00000000"), shard("20.00000000")}, {100, 300}),
            R"({"a":{"value":17.50000000}})");
  // A shard without documents has no influence, whatever its value is.
  EXPECT_EQ(merged_aggs(aggs, {shard("0.000000"), shard("20.000000")}, {0, 10}),
            R"({"a":{"value":20.000000}})");
  EXPECT_EQ(merged_aggs(aggs, {R"({"a":{}})", shard("20.000000")}, {0, 10}),
            R"({"a":{"value":20.000000}})");
  // Seven values of 9e18 each: a sum of 64 bits would be negative.
  EXPECT_EQ(
      merged_aggs(aggs,
                  {shard("9000000000000000000.00000000"), shard("9000000000000000000.00000000")},
                  {3, 4}),
      R"({"a":{"value":9000000000000000000.00000000}})");
  // A sum of floats has 24 bits, a mean 53.
  EXPECT_EQ(merged_aggs(aggs, {shard("239003466.12500000"), shard("239003466.37500000")}, {1, 1}),
            R"({"a":{"value":239003466.25000000}})");
}

TEST(MergedMetric, IsAbsentWhereNothingWasFound) {
  for (const std::string kind : {"min", "max", "avg", "sum"}) {
    const auto aggs = R"({"m":{")" + kind + R"(":{"field":"p"}}})";
    EXPECT_EQ(merged_aggs(aggs, {R"({"m":{}})", R"({"m":{}})"}, {0, 0}), R"({"m":{}})") << kind;
    EXPECT_EQ(merged_aggs(aggs, {R"({"m":{}})", R"({"m":{"value":3}})"}, {0, 5}),
              R"({"m":{"value":3}})");
    EXPECT_EQ(merged_aggs(aggs, {R"({"m":{"value":null}})", R"({"m":{}})"}, {0, 0}),
              R"({"m":{"value":null}})");
  }
}

// What a shard wrote may end up in the answer, so it is a number of JSON or it is null.
TEST(MergedMetric, IsAlwaysJson) {
  for (const std::string kind : {"min", "avg", "sum"}) {
    const auto aggs = R"({"m":{")" + kind + R"(":{"field":"p"}}})";
    for (const std::string bad : {"-", "01", "1.", "-nam", "1e", "1.2.3", "{\"x\":1,}", "2-1"})
      EXPECT_EQ(merged_aggs(aggs, {R"({"m":{"value":)" + bad + "}}"}),
                "bad shard 0: it is malformed");
    EXPECT_EQ(merged_aggs(aggs, {R"({"m":{"value":"x"}})"}), R"({"m":{"value":null}})");
    EXPECT_EQ(merged_aggs(aggs, {R"({"m":{"value":"x"}})", R"({"m":{"value":3}})"}),
              R"({"m":{"value":3}})");
  }
}

TEST(MergedTerms, AddUpAndAreOrderedByCountThenKey) {
  EXPECT_EQ(
      merged_aggs(
          R"({"b":{"terms":{"field":"brand","size":3}}})",
          {R"({"b":{"buckets":[{"key":"globex","doc_count":60},{"key":"acme","doc_count":40}]}})",
           R"({"b":{"buckets":[{"key":"zeta","doc_count":70},{"key":"acme","doc_count":20},{"key":"beta","doc_count":5}]}})"}),
      R"({"b":{"buckets":[{"key":"zeta","doc_count":70},{"key":"acme","doc_count":60},{"key":"globex","doc_count":60}]}})");
}

TEST(MergedTerms, FollowTheRequestsOrder) {
  const std::vector<std::string> answers{
      R"({"b":{"buckets":[{"key":9,"doc_count":1},{"key":100,"doc_count":4}]}})",
      R"({"b":{"buckets":[{"key":9,"doc_count":1},{"key":10,"doc_count":1}]}})"};
  EXPECT_EQ(
      merged_aggs(R"({"b":{"terms":{"field":"p"},"sort":[{"p":{"order":"desc"}}]}})", answers),
      R"({"b":{"buckets":[{"key":100,"doc_count":4},{"key":10,"doc_count":1},{"key":9,"doc_count":2}]}})");
  EXPECT_EQ(merged_aggs(R"x({"b":{"terms":{"field":"p","size":2},"sort":[{"count(*)":"asc"}]}})x",
                        answers),
            R"({"b":{"buckets":[{"key":10,"doc_count":1},{"key":9,"doc_count":2}]}})");
}

TEST(MergedTerms, HoldSpellingsForOneKeyThatTheCollationHoldsForEqual) {
  const std::string_view aggs = R"({"b":{"terms":{"field":"brand"}}})";
  const std::vector<std::string> answers{R"({"b":{"buckets":[{"key":"acme","doc_count":2}]}})",
                                         R"({"b":{"buckets":[{"key":"Acme","doc_count":3}]}})"};
  EXPECT_EQ(merged_aggs(aggs, answers), R"({"b":{"buckets":[{"key":"Acme","doc_count":5}]}})");
  EXPECT_EQ(merged_aggs(aggs, answers, {}, {.collation = Collation::libc_cs}),
            R"({"b":{"buckets":[{"key":"Acme","doc_count":3},{"key":"acme","doc_count":2}]}})");
}

// In a JSON attribute "Red" and "red" are two values, but 5 and "5" are one.
TEST(MergedTerms, OfAJsonPathAreOneKeyOnlyWhereTheyAreSpeltAlike) {
  const std::vector<std::string> answers{
      R"({"b":{"buckets":[{"key":"Red","doc_count":2969},{"key":5,"doc_count":2},{"key":null,"doc_count":2},{"key":-7,"doc_count":1}]}})",
      R"({"b":{"buckets":[{"key":"red","doc_count":2912},{"key":"5","doc_count":1},{"key":"\u0052ed","doc_count":1},{"key":"","doc_count":1},{"key":"7","doc_count":1}]}})"};
  for (const std::string field : {"meta.s", "meta['s']", "meta[0]"})
    EXPECT_EQ(
        merged_aggs(R"({"b":{"terms":{"field":")" + field + R"("}}})", answers),
        R"({"b":{"buckets":[{"key":"Red","doc_count":2970},{"key":"red","doc_count":2912},{"key":"5","doc_count":3},{"key":null,"doc_count":2},{"key":"","doc_count":1},{"key":-7,"doc_count":1},{"key":"7","doc_count":1}]}})");
}

// The server orders what stands in JSON as text.
TEST(MergedTerms, OfAJsonPathAreOrderedAsText) {
  const std::vector<std::string> answers{
      R"({"b":{"buckets":[{"key":null,"doc_count":1},{"key":10,"doc_count":1},{"key":50,"doc_count":1},{"key":9,"doc_count":1}]}})",
      R"({"b":{"buckets":[{"key":11,"doc_count":1},{"key":6,"doc_count":1},{"key":9,"doc_count":1},{"key":9.500000,"doc_count":1}]}})"};
  EXPECT_EQ(
      merged_aggs(R"({"b":{"terms":{"field":"meta.n"},"sort":["meta.n"]}})", answers),
      R"({"b":{"buckets":[{"key":null,"doc_count":1},{"key":10,"doc_count":1},{"key":11,"doc_count":1},{"key":50,"doc_count":1},{"key":6,"doc_count":1},{"key":9,"doc_count":2},{"key":9.500000,"doc_count":1}]}})");
  // Keys that tie come in one order, also where the keys descend.
  EXPECT_EQ(
      merged_aggs(
          R"({"b":{"terms":{"field":"meta.s"},"sort":[{"meta.s":"desc"}]}})",
          {R"({"b":{"buckets":[{"key":"red","doc_count":1},{"key":"blue","doc_count":1}]}})",
           R"({"b":{"buckets":[{"key":"Red","doc_count":1}]}})"}),
      R"({"b":{"buckets":[{"key":"Red","doc_count":1},{"key":"red","doc_count":1},{"key":"blue","doc_count":1}]}})");
  // The type of an expression is that of its result, not of its arguments.
  EXPECT_EQ(
      merged_aggs(R"x({"b":{"terms":{"field":"integer(meta.n)","size":2},"order":"_key"}})x",
                  {R"({"b":{"buckets":[{"key":6,"doc_count":1},{"key":50,"doc_count":1}]}})",
                   R"({"b":{"buckets":[{"key":9,"doc_count":1},{"key":10,"doc_count":1}]}})"}),
      R"({"b":{"buckets":[{"key":6,"doc_count":1},{"key":9,"doc_count":1}]}})");
}

TEST(MergedRanges, KeepTheRequestsOrderAlsoWhereAShardLeavesSomeOut) {
  EXPECT_EQ(
      merged_aggs(
          R"({"r":{"range":{"field":"p","ranges":[{"to":100},{"from":100,"to":300},{"from":300}]}}})",
          {R"({"r":{"buckets":[{"key":"300-*","from":300,"doc_count":1}]}})",
           R"({"r":{"buckets":[{"key":"*-100","to":100,"doc_count":2},{"key":"100-300","from":100,"to":300,"doc_count":0},{"key":"300-*","from":300,"doc_count":5}]}})"}),
      R"({"r":{"buckets":[{"key":"*-100","to":100,"doc_count":2},{"key":"100-300","from":100,"to":300,"doc_count":0},{"key":"300-*","from":300,"doc_count":6}]}})");
}

// No reply has the second and the third of them.
TEST(MergedRanges, KeepTheRequestsOrderThatNoReplyShows) {
  EXPECT_EQ(
      merged_aggs(
          R"({"r":{"range":{"field":"p","ranges":[{"to":51},{"from":99,"to":223},{"from":"372"}]}}})",
          {R"({"r":{"buckets":[{"key":"*-51","to":"51","doc_count":1},{"key":"372-*","from":"372","doc_count":2}]}})",
           R"({"r":{"buckets":[{"key":"99-223","from":"99","to":"223","doc_count":3}]}})"}),
      R"({"r":{"buckets":[{"key":"*-51","to":"51","doc_count":1},{"key":"99-223","from":"99","to":"223","doc_count":3},{"key":"372-*","from":"372","doc_count":2}]}})");
}

TEST(MergedRanges, WithEqualKeysAreToldApartByTheirBoundsAndPosition) {
  EXPECT_EQ(
      merged_aggs(
          R"({"r":{"range":{"field":"p","ranges":[{"key":"a","to":1},{"key":"a","from":1},{"key":"a","from":1}]}}})",
          {R"({"r":{"buckets":[{"key":"a","to":1,"doc_count":1},{"key":"a","from":1,"doc_count":2},{"key":"a","from":1,"doc_count":4}]}})",
           R"({"r":{"buckets":[{"key":"a","from":1,"doc_count":8},{"key":"a","from":1,"doc_count":16}]}})"}),
      R"({"r":{"buckets":[{"key":"a","to":1,"doc_count":1},{"key":"a","from":1,"doc_count":10},{"key":"a","from":1,"doc_count":20}]}})");
  // Bounds that are computed from the time differ between shards.
  EXPECT_EQ(
      merged_aggs(R"({"r":{"date_range":{"field":"t","ranges":[{"key":"a","to":"now"}]}}})",
                  {R"({"r":{"buckets":[{"key":"a","to":"2024-01-01T00:00:00","doc_count":1}]}})",
                   R"({"r":{"buckets":[{"key":"a","to":"2024-01-01T00:00:01","doc_count":2}]}})"}),
      R"({"r":{"buckets":[{"key":"a","to":"2024-01-01T00:00:00","doc_count":3}]}})");
}

TEST(MergedHistogram, IsOrderedByItsKeysAndKeepsEmptyBuckets) {
  EXPECT_EQ(
      merged_aggs(
          R"({"h":{"histogram":{"field":"p","interval":250}}})",
          {R"({"h":{"buckets":[{"key":0,"doc_count":0},{"key":1000,"doc_count":3}]}})",
           R"({"h":{"buckets":[{"key":-250,"doc_count":1},{"key":0,"doc_count":0},{"key":500,"doc_count":2}]}})"}),
      R"({"h":{"buckets":[{"key":-250,"doc_count":1},{"key":0,"doc_count":0},{"key":500,"doc_count":2},{"key":1000,"doc_count":3}]}})");
}

// Of the others a server has left out, buckets may lack its documents.
TEST(MergedHistogram, HasOnlyAsManyBucketsAsAServerReturns) {
  const auto shard = [](int first, int step) {
    std::string buckets;
    for (int i = 0; i < 1000; ++i)
      buckets +=
          fmt::format(R"({}{{"key":{},"doc_count":1}})", i == 0 ? "" : ",", first + i * step);
    return answer(9000, "", fmt::format(R"(,"aggregations":{{"h":{{"buckets":[{}]}}}})", buckets));
  };
  const auto merged = [&](std::string_view page, std::string_view histogram) {
    return Searching().merged(
        fmt::format(
            R"({{"table":"t","limit":0,{}"aggs":{{"h":{{"histogram":{{"field":"p",{}}}}}}}}})",
            page, histogram),
        {shard(0, 1), shard(0, 7)});
  };
  EXPECT_TRUE(merged("", R"("interval":1)").ends_with(R"({"key":999,"doc_count":1}]}}})"));
  EXPECT_TRUE(merged(R"("max_matches":8,)", R"("interval":1,"size":9)")
                  .ends_with(R"({"key":6,"doc_count":1},{"key":7,"doc_count":2}]}}})"));
  EXPECT_TRUE(merged(R"("max_matches":2000,)", R"("interval":1,"size":1001)")
                  .ends_with(R"({"key":1001,"doc_count":1}]}}})"));
}

TEST(MergedHistogram, MayBeKeyed) {
  EXPECT_EQ(
      merged_aggs(
          R"({"h":{"date_histogram":{"field":"ts","calendar_interval":"day","keyed":true}}})",
          {R"({"h":{"buckets":{"2024-01-02":{"key":1704153600,"key_as_string":"2024-01-02","doc_count":1}}}})",
           R"({"h":{"buckets":{"2024-01-01":{"key":1704067200,"doc_count":4},"2024-01-02":{"key":1704153600,"doc_count":2}}}})"}),
      R"({"h":{"buckets":{"2024-01-01":{"key":1704067200,"doc_count":4},"2024-01-02":{"key":1704153600,"key_as_string":"2024-01-02","doc_count":3}}}})");
  EXPECT_EQ(merged_aggs(R"({"r":{"range":{"field":"p","keyed":true,"ranges":[{"to":1}]}}})",
                        {R"({"r":{"buckets":{"*-1":{"doc_count":1}}}})",
                         R"({"r":{"buckets":{"*-1":{"doc_count":4}}}})"}),
            R"({"r":{"buckets":{"*-1":{"doc_count":5}}}})");
}

TEST(MergedAggregations, AreNullWhereTheyAreNoFiniteNumber) {
  const auto merged = [](std::string_view kind, std::string_view value) {
    return merged_aggs(
        R"({"m":{")" + std::string(kind) + R"(":{"field":"p"}},"x":{"max":{"field":"q"}}})",
        {R"({"m":{"value":)" + std::string(value) + R"(},"x":{"value":7}})",
         R"({"m":{"value":4.5},"x":{"value":null}})"});
  };
  const std::string null = R"({"m":{"value":null},"x":{"value":7}})";
  for (const auto* kind : {"sum", "avg"})
    for (const auto* value : {"inf", "-inf", "nan", "-nan"})
      EXPECT_EQ(merged(kind, value), null) << kind << value;
  EXPECT_EQ(merged("max", "inf"), null);
  EXPECT_EQ(merged("min", "-inf"), null);
  EXPECT_EQ(merged("max", "-inf"), R"({"m":{"value":4.5},"x":{"value":7}})");
}

TEST(MergedAggregations, AreMadeOfTheShardsThatAnswered) {
  EXPECT_EQ(merged_aggs(R"({"m":{"max":{"field":"p"}}})", {"", R"({"m":{"value":4}})"}),
            R"({"m":{"value":4}})");
}

TEST(MergedAggregations, NameTheShardTheyCannotUnderstand) {
  const std::string good = R"({"b":{"buckets":[]}})";
  for (const auto* bad :
       {R"({})", R"({"b":7})", R"({"b":{"buckets":[7]}})", R"({"b":{"buckets":[{"key":1}]}})",
        R"({"b":{"buckets":[{"doc_count":1}]}})", R"({"b":{"buckets":[{"key":1,"doc_count":-1}]}})",
        R"({"b":{"buckets":[{"key":1,"doc_count":1] }})"})
    EXPECT_TRUE(
        merged_aggs(R"({"b":{"terms":{"field":"x"}}})", {good, bad}).starts_with("bad shard 1: "))
        << bad;
}

TEST(MergeWeight, GrowsWithSortKeysAndWithAggregations) {
  const Searching searching;
  EXPECT_EQ(searching.merge_weight(R"({"table":"t"})"), 1U);
  EXPECT_EQ(searching.merge_weight(R"({"table":"t","sort":["a","b"]})"), 1U);
  EXPECT_GT(searching.merge_weight(
                R"({"table":"t","sort":["a","b","c","d","e","f","g","h","i","j","k","l"]})"),
            2U);
  EXPECT_GT(
      searching.merge_weight(R"({"table":"t","aggs":{"b":{"terms":{"field":"brand","size":20}}}})"),
      2U);
}

// A shard's answers are found by their names, however the names are spelled; of two of one name the
// last counts, as it always did.
TEST(AggregationMerge, FindsEachAnswerByItsName) {
  EXPECT_EQ(merged_aggs(R"({"a":{"sum":{"field":"p"}},"b":{"sum":{"field":"q"}}})",
                        {R"({"b":{"value":10},"a":{"value":1}})",
                         R"({"a":{"value":100},"b":{"value":20},"\u0061":{"value":2}})"}),
            R"({"a":{"value":3},"b":{"value":30}})");
}

// The largest allowed number of aggregations; each is found by its name in constant time.
TEST(AggregationMerge, OfAsManyAggregationsAsMayBeIsWhole) {
  constexpr int kMany = 256;
  std::string aggs = "{";
  std::string answer = "{";
  std::string expected = "{";
  for (int i = 0; i < kMany; ++i) {
    const auto name = (i == 0 ? "\"m" : ",\"m") + std::to_string(i) + "\":";
    aggs += name + R"({"sum":{"field":"p"}})";
    answer += name + R"({"value":)" + std::to_string(i) + "}";
    expected += name + R"({"value":)" + std::to_string(2 * i) + "}";
  }
  EXPECT_EQ(merged_aggs(aggs + "}", {answer + "}", answer + "}"}), expected + "}");
}

}  // namespace
}  // namespace karmad
