#include <fmt/format.h>

#include "tests/agent/dialect/search_support.hpp"

// Aggregations that are computed from all values of a field: cardinality, percentiles, their ranks,
// the median absolute deviation.

namespace karmad {
namespace {

std::string search_of(std::string_view kind, std::string_view inner) {
  return fmt::format(R"({{"table":"t","limit":0,"aggs":{{"m":{{"{}":{{{}}}}}}}}})", kind, inner);
}

/// A shard's buckets; of each the key as it stands in the answer, and its count.
std::string buckets(const std::vector<std::pair<std::string, int>>& list) {
  std::string text;
  for (const auto& [key, count] : list)
    text += fmt::format(R"({}{{"key":{},"doc_count":{}}})", text.empty() ? "" : ",", key, count);
  return answer(100, "", R"(,"aggregations":{"m":{"buckets":[)" + text + "]}}");
}

/// What the merged answer has for the aggregation, without its braces.
std::string measured(std::string_view kind, std::string_view inner,
                     const std::vector<std::string>& answers) {
  const auto merged = Searching().merged(search_of(kind, inner), answers);
  const auto at = merged.find("\"m\":{");
  return at == merged.npos ? merged : merged.substr(at + 5, merged.size() - at - 8);
}

/// The prices of the recorded server's small documents: all, or those of one of its shards.
std::string recorded_prices(int shard) {
  std::vector<std::pair<std::string, int>> list;
  for (int i = 0; i < 40; ++i)
    if (shard == 0 || i % 2 == shard - 1)
      list.emplace_back(fmt::format("{:f}", -8.75 + 1.25 * i), 1);
  if (shard != 2) list.emplace_back("10000000000.000000", 1);
  if (shard != 1) list.emplace_back("0.000000", 1);  // 1e-9, with six decimals
  return buckets(list);
}

TEST(MeasurePlan, AsksForAllValuesOfTheField) {
  constexpr std::string_view kAll =
      R"({"m":{"terms":{"field":"price","size":100000}}},"max_matches":100000)";
  for (const auto* const body :
       {R"({"m":{"cardinality":{"field":"price","precision_threshold":3000}}})",
        R"({"m":{"percentiles":{"field":"price","tdigest":{"compression":50}}}})",
        R"({"m":{"percentile_ranks":{"field":"price","values":[1,2.5],"keyed":true}}})",
        R"({"m":{"median_absolute_deviation":{"field":"price"}}})"})
    EXPECT_EQ(asked_aggs(body), kAll) << body;
  // Filters of the aggregation stay.
  EXPECT_EQ(asked_aggs(R"({"c":{"filter_mode":"own","cardinality":{"field":"meta.color"}}})"),
            R"({"c":{"filter_mode":"own","terms":{"field":"meta.color","size":100000}}},)"
            R"("max_matches":100000)");
}

TEST(MeasurePlan, RefusesWhatItCannotRead) {
  const struct {
    std::string_view aggs, reason;
  } cases[] = {
      {R"({"a":{"cardinality":{}}})", "\"a\": it has no field"},
      {R"({"a":{"cardinality":{"field":7}}})", "it has no field"},
      {R"({"a":{"percentiles":7}})", "percentiles must be an object"},
      {R"({"a":{"percentiles":{"field":"b"},"max":{"field":"b"}}})", "max is not known"},
      {R"({"a":{"max":{"field":"b"},"percentiles":{"field":"b"}}})", "percentiles is not known"},
      {R"({"a":{"percentiles":{"field":"b"},"aggs":{}}})", "nested"},
      {R"({"a":{"terms":{"field":"c"},"aggs":{"b":{"cardinality":{"field":"b"}}}}})", "nested"},
      {R"({"a":{"percentiles":{"field":"b","values":[]}}})", "an array of 1 to 1024 numbers"},
      {R"({"a":{"percentiles":{"field":"b","values":["5"]}}})", "\"values\" must be numbers"},
      {R"({"a":{"percentiles":{"field":"b","values":[5,100.5]}}})", "from 0 to 100"},
      {R"({"a":{"percentiles":{"field":"b","percents":[-1]}}})", "from 0 to 100"},
      {R"({"a":{"percentiles":{"field":"b","keyed":1}}})", "\"keyed\" must be true or false"},
      {R"({"a":{"percentile_ranks":{"field":"b"}}})", "an array of 1 to 1024 numbers"},
      {R"({"a":{"percentile_ranks":{"field":"b","percents":[5]}}})", "an array of 1 to"},
  };
  for (const auto& c : cases) {
    const auto asked = asked_aggs(c.aggs);
    EXPECT_TRUE(asked.starts_with("refused: ")) << c.aggs << asked;
    EXPECT_NE(asked.find(c.reason), std::string::npos) << asked;
  }
}

TEST(Cardinality, CountsEachValueOnce) {
  const auto count = [](const std::vector<std::string>& answers) {
    return measured("cardinality", R"("field":"price")", answers);
  };
  EXPECT_EQ(count({buckets({{"1", 5}, {"2.500000", 1}}), buckets({{"2.5", 7}, {"3", 1}})}),
            R"("value":3)");
  EXPECT_EQ(count({recorded_prices(1), recorded_prices(2)}), R"("value":41)");
  EXPECT_EQ(count({buckets({}), buckets({})}), R"("value":0)");
  // A shard that failed has no values.
  EXPECT_EQ(count({"", buckets({{"7", 1}})}), R"("value":1)");
  // Values as `terms` groups them: by the collation, and without those that no document has.
  EXPECT_EQ(count({buckets({{"\"acme\"", 1}, {"\"zeta\"", 0}}), buckets({{"\"Acme\"", 1}})}),
            R"("value":1)");
  const auto of_json = [](const std::vector<std::string>& answers) {
    return measured("cardinality", R"("field":"meta.x")", answers);
  };
  EXPECT_EQ(of_json({buckets({{"\"red\"", 1}, {"null", 3}}), buckets({{"\"Red\"", 1}, {"5", 1}})}),
            R"("value":3)");
  EXPECT_EQ(of_json({buckets({{"12", 1}, {"2.5", 1}}),
                     buckets({{"\"12\"", 2}, {"\"2.500000\"", 1}, {"-12", 1}})}),
            R"("value":3)");
}

TEST(Percentiles, AreThoseThatOneServerHasRecorded) {
  constexpr std::string_view kRecorded[] = {"-8.4875", "-6.75",           "2.5", "15.625", "28.75",
                                            "39.25",   "7900000008.39999"};
  constexpr int kPercents[] = {1, 5, 25, 50, 75, 95, 99};
  std::string expected;
  for (std::size_t i = 0; i < std::size(kRecorded); ++i)
    expected += fmt::format(R"({}{{"key":{},"value":{},"value_as_string":"{}"}})",
                            i == 0 ? "" : ",", kPercents[i], kRecorded[i], kRecorded[i]);
  expected = R"("values":[)" + expected + "]";
  EXPECT_EQ(measured("percentiles", R"("field":"price")", {recorded_prices(1), recorded_prices(2)}),
            expected);
  EXPECT_EQ(measured("percentiles", R"("field":"price")", {recorded_prices(0)}).size(),
            expected.size());
}

TEST(Percentiles, AreTheSameHoweverValuesAreDistributedAndHoweverOftenTheyOccur) {
  constexpr std::string_view kSome = R"("field":"n","keyed":true,"values":[0,12.5,50,90,100])";
  const auto of = [&](const std::vector<std::string>& answers) {
    return measured("percentiles", kSome, answers);
  };
  // 1 1 1 2 4 4 4 4 9 10
  constexpr std::string_view kExpected = R"("values":{"0":1,"12.5":1,"50":4,"90":9.5,"100":10})";
  EXPECT_EQ(of({buckets({{"1", 3}, {"2", 1}, {"4", 4}, {"9", 1}, {"10", 1}}), buckets({})}),
            kExpected);
  EXPECT_EQ(of({buckets({{"10", 1}, {"4", 1}, {"1", 2}}),
                buckets({{"4", 3}, {"9", 1}, {"2", 1}, {"1", 1}})}),
            kExpected);
  EXPECT_EQ(of({buckets({{"7", 1}}), buckets({})}),
            R"("values":{"0":7,"12.5":7,"50":7,"90":7,"100":7})");
  EXPECT_EQ(measured("percentiles", R"("field":"n","percents":[50.0])",
                     {buckets({{"-5", 1}}), buckets({{"1e3", 1}, {"inf", 1}})}),
            R"("values":[{"key":50,"value":1000,"value_as_string":"1000"}])");
}

TEST(PercentileRanks, AreTheShareOfValuesThatAreAtMostTheGivenOnes) {
  const auto ranks = [](std::string_view more, const std::vector<std::string>& answers) {
    return measured("percentile_ranks", R"("field":"n",)" + std::string(more), answers);
  };
  const std::vector<std::string> some{buckets({{"10", 1}, {"30", 1}, {"50", 1}}),
                                      buckets({{"20", 1}, {"40", 1}})};
  EXPECT_EQ(ranks(R"("values":[10,150,1500],"keyed":true)", some),
            R"("values":{"10":20,"150":100,"1500":100})");
  EXPECT_EQ(ranks(R"("values":[9.5,25])", some),
            R"("values":[{"key":9.5,"value":0,"value_as_string":"0"},)"
            R"({"key":25,"value":40,"value_as_string":"40"}])");
}

TEST(MedianAbsoluteDeviation, IsTheMedianOfTheDistancesFromTheMedian) {
  const auto deviation = [](const std::vector<std::string>& answers) {
    return measured("median_absolute_deviation", R"("field":"n")", answers);
  };
  EXPECT_EQ(
      deviation({buckets({{"10", 1}, {"30", 1}, {"50", 1}}), buckets({{"20", 1}, {"40", 1}})}),
      R"("value":10,"value_as_string":"10")");
  EXPECT_EQ(deviation({buckets({{"1", 7}}), buckets({{"1", 2}, {"100", 3}})}),
            R"("value":0,"value_as_string":"0")");
}

TEST(Measures, OfNothingAreNull) {
  const std::vector<std::string> none{buckets({}), buckets({{"null", 4}})};
  EXPECT_EQ(measured("percentiles", R"("field":"meta.n","values":[50])", none),
            R"("values":[{"key":50,"value":null,"value_as_string":null}])");
  EXPECT_EQ(measured("percentile_ranks", R"("field":"meta.n","values":[5],"keyed":true)", none),
            R"("values":{"5":null})");
  EXPECT_EQ(measured("median_absolute_deviation", R"("field":"meta.n")", none),
            R"("value":null,"value_as_string":null)");
}

/// The refusal of a query by replies that are right.
std::string refusal(const std::string& body, const std::vector<std::string>& answers) {
  const Searching searching;
  const auto request = Searching::post(body);
  const auto parsed = searching.dialect().parse(request);
  const auto plan = searching.dialect().plan(request, *parsed, answers.size());
  std::vector<ShardReply> replies;
  for (const auto& answer : answers) replies.push_back({answer});
  std::string out;
  const auto bad = merge(*plan, replies, {}, out);
  return bad && bad->status == 400 ? bad->reason : "none";
}

TEST(Measures, AreRefusedWhereAShardMayHaveMoreValuesThanItReturned) {
  std::vector<std::pair<std::string, int>> many;
  for (int i = 0; i < 100'000; ++i) many.emplace_back(std::to_string(i), 1);
  const auto few = buckets({{"1", 1}});
  for (const auto* const kind : {"percentiles", "cardinality"}) {
    const auto search = search_of(kind, R"("field":"n")");
    const auto why = refusal(search, {few, buckets(many)});
    EXPECT_NE(why.find("aggregation \"m\": a shard has 100000 values"), why.npos) << why;
    EXPECT_NE(why.find("histogram"), why.npos) << why;
    auto fewer = many;
    fewer.pop_back();
    EXPECT_EQ(refusal(search, {few, buckets(fewer)}), "none");
  }
}

TEST(Measures, OfTextsAreRefusedUnlessTheyCount) {
  const std::vector<std::string> texts{buckets({{"1", 1}}), buckets({{"\"x\"", 1}})};
  EXPECT_EQ(refusal(search_of("percentiles", R"("field":"meta.n")"), texts),
            "aggregation \"m\": its field has values that are no numbers");
  EXPECT_EQ(refusal(search_of("cardinality", R"("field":"meta.n")"), texts), "none");
}

}  // namespace
}  // namespace karmad
