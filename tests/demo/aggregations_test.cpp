#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "demo/language/dates.hpp"
#include "tests/demo/shop.hpp"

namespace karmad::demo {
namespace {

auto documents() {
  return whole_shop().index().documents();
}

std::string aggregated(std::string_view aggregation, std::string_view query = {}) {
  return aggregation_of(ask(whole_shop(), with_aggregation(aggregation, query)), "a");
}

TEST(Aggregations, TermsComeByCountThenKeyUpToTheirSize) {
  std::map<std::string, int> brands;
  for (const auto& document : documents()) ++brands[document.brand];
  std::vector<std::pair<int, std::string>> expected;
  for (const auto& [brand, count] : brands) expected.emplace_back(-count, brand);
  std::sort(expected.begin(), expected.end());
  std::string buckets;
  for (std::size_t i = 0; i < 3; ++i)
    buckets += fmt::format(R"({}{{"key":"{}","doc_count":{}}})", i == 0 ? "" : ",",
                           expected[i].second, -expected[i].first);
  EXPECT_EQ(aggregated(R"({"terms":{"field":"brand","size":3}})"),
            R"({"buckets":[)" + buckets + "]}");
}

TEST(Aggregations, TermsCanBeOrderedByKeyOrCountInAllSpellings) {
  const auto first = [](std::string_view aggregation) {
    rapidjson::Document json;
    json.Parse(aggregated(aggregation).c_str());
    return std::string(json["buckets"][0]["key"].GetString());
  };
  EXPECT_EQ(first(R"({"terms":{"field":"brand"},"sort":[{"brand":{"order":"asc"}}]})"), "Aurora");
  EXPECT_EQ(first(R"({"terms":{"field":"brand"},"sort":[{"brand":"desc"}]})"), "lumen");
  EXPECT_EQ(first(R"({"terms":{"field":"brand","order":{"_key":"desc"}}})"), "lumen");
  const auto rarest = first(R"j({"terms":{"field":"brand"},"sort":[{"count(*)":"asc"}]})j");
  EXPECT_EQ(rarest, first(R"({"terms":{"field":"brand","order":{"_count":"asc"}}})"));
  EXPECT_NE(rarest, "Aurora");
}

TEST(Aggregations, SpellingsOfOneStringShareABucket) {
  const auto text = aggregated(R"({"terms":{"field":"seller"}})");
  EXPECT_NE(text.find(R"("key":"NORTH STAR")"), std::string::npos);
  EXPECT_EQ(text.find("North Star"), std::string::npos);
}

TEST(Aggregations, AreAlsoOfExpressions) {
  std::map<bool, int> dear;
  std::int64_t most = 0;
  for (const auto& document : documents()) {
    ++dear[document.price > 300];
    most = std::max(most, std::int64_t{document.price} * 3 + 1);
  }
  const auto answer = ask(whole_shop(), R"({"table":"products","limit":0,
      "expressions":{"dear":"price>300","triple":"price*3+1"},"aggs":{
        "a":{"terms":{"field":"dear","order":{"_key":"asc"}}},
        "b":{"max":{"field":"triple"}},"c":{"terms":{"field":"cheap"}}}})");
  EXPECT_EQ(answer.status, 500);  // there is no such expression
  EXPECT_NE(answer.body.find("group-by attribute 'cheap' not found"), std::string::npos);
  const auto good = ask(whole_shop(), R"({"table":"products","limit":0,
      "expressions":{"dear":"price>300","triple":"price*3+1"},"aggs":{
        "a":{"terms":{"field":"dear","order":{"_key":"asc"}}},
        "b":{"max":{"field":"triple"}},
        "c":{"histogram":{"field":"triple","interval":100000}}}})");
  EXPECT_EQ(aggregation_of(good, "a"),
            fmt::format(R"({{"buckets":[{{"key":0,"doc_count":{}}},{{"key":1,"doc_count":{}}}]}})",
                        dear[false], dear[true]));
  EXPECT_EQ(aggregation_of(good, "b"), fmt::format(R"({{"value":{}}})", most));
  EXPECT_EQ(aggregation_of(good, "c"), R"({"buckets":[{"key":0,"doc_count":4000}]})");
}

TEST(Aggregations, EachValueOfAMultiValuedColumnCounts) {
  std::map<std::int64_t, int> tags;
  for (const auto& document : documents())
    for (const auto tag : document.tags) ++tags[tag];
  const auto text = aggregated(R"({"terms":{"field":"tags","size":100}})");
  for (const auto& [tag, count] : tags)
    EXPECT_NE(text.find(fmt::format(R"({{"key":{},"doc_count":{}}})", tag, count)),
              std::string::npos);
}

TEST(Aggregations, MetricsAreExact) {
  std::uint64_t sum = 0;
  std::uint32_t most = 0;
  for (const auto& document : documents()) {
    sum += document.price;
    most = std::max(most, document.price);
  }
  EXPECT_EQ(aggregated(R"({"sum":{"field":"price"}})"), fmt::format(R"({{"value":{}}})", sum));
  EXPECT_EQ(aggregated(R"({"max":{"field":"price"}})"), fmt::format(R"({{"value":{}}})", most));
  const auto answer = ask(whole_shop(), with_aggregation(R"({"avg":{"field":"price"}})"));
  EXPECT_NE(answer.body.find(fmt::format("\"value\":{:.8f}", static_cast<double>(sum) / 4000)),
            std::string::npos)
      << answer.body;
  const auto rating = ask(whole_shop(), with_aggregation(R"({"min":{"field":"rating"}})"));
  EXPECT_NE(rating.body.find("\"value\":1.000000"), std::string::npos) << rating.body;
}

TEST(Aggregations, OfNothingHaveNoValue) {
  constexpr auto kNobody = R"({"equals":{"id":0}})";
  for (const auto* kind : {"min", "max", "avg", "sum"})
    EXPECT_EQ(aggregated(fmt::format(R"({{"{}":{{"field":"price"}}}})", kind), kNobody), "{}");
  EXPECT_EQ(aggregated(R"({"terms":{"field":"brand"}})", kNobody), R"({"buckets":[]})");
}

TEST(Aggregations, RangesNameTheirEndsAndCountTheLowerOne) {
  const auto at_least_99 = std::count_if(documents().begin(), documents().end(),
                                         [](const auto& d) { return d.price >= 99; });
  EXPECT_EQ(aggregated(R"({"range":{"field":"price","ranges":[{"to":99},{"from":99}]}})"),
            fmt::format(R"({{"buckets":[{{"key":"*-99","to":99,"doc_count":{}}},)"
                        R"({{"key":"99-*","from":99,"doc_count":{}}}]}})",
                        4000 - at_least_99, at_least_99));
  EXPECT_EQ(aggregated(R"({"range":{"field":"price","keyed":true,"ranges":[{"from":9999}]}})"),
            R"({"buckets":{}})");
}

TEST(Aggregations, HistogramsHaveNoEmptyBuckets) {
  EXPECT_EQ(aggregated(R"({"histogram":{"field":"price","interval":250}})",
                       R"({"in":{"id":[1,2,3,4,5]}})")
                .find("\"doc_count\":0"),
            std::string::npos);
  const auto text = aggregated(R"({"histogram":{"field":"rating","interval":2,"offset":1}})");
  EXPECT_TRUE(text.starts_with(R"({"buckets":[{"key":1,"doc_count":)")) << text;
}

TEST(Aggregations, HistogramsEndWithMaxMatches) {
  const auto whole = aggregated(R"({"histogram":{"field":"price","interval":100}})");
  auto request = with_aggregation(R"({"histogram":{"field":"price","interval":100}})");
  request.insert(1, R"("max_matches":2,)");
  const auto cut = aggregation_of(ask(whole_shop(), request), "a");
  EXPECT_TRUE(whole.starts_with(cut.substr(0, cut.size() - 2))) << cut;
  EXPECT_TRUE(cut.contains(R"("key":100,)") && !cut.contains(R"("key":200,)")) << cut;
}

TEST(Aggregations, DateHistogramsFollowTheCalendar) {
  const auto text = aggregated(R"({"date_histogram":{"field":"ts","calendar_interval":"month"}})");
  EXPECT_TRUE(text.starts_with(
      R"({"buckets":[{"key":1698796800,"key_as_string":"2023-11-01T00:00:00","doc_count":)"))
      << text;
}

TEST(Aggregations, DateRangesUnderstandDays) {
  const auto text = aggregated(R"({"date_range":{"field":"ts","ranges":[{"to":"2024-01-01"}]}})");
  EXPECT_TRUE(text.starts_with(R"({"buckets":[{"key":"*-2024-01-01T00:00:00","to":)")) << text;
}

TEST(Aggregations, CompositePagesAfterItsLastKeyUntilAllIsSeen) {
  constexpr auto kSources =
      R"("sources":[{"b":{"terms":{"field":"brand"}}},{"n":{"terms":{"field":"meta.n"}}}])";
  std::size_t seen = 0;
  std::size_t documents_seen = 0;
  std::string after;
  for (int page = 0; page < 100; ++page) {
    rapidjson::Document json;
    json.Parse(
        aggregated(fmt::format(R"({{"composite":{{"size":7,{}{}}}}})", kSources, after)).c_str());
    if (json["buckets"].Empty()) break;
    seen += json["buckets"].Size();
    for (const auto& bucket : json["buckets"].GetArray())
      documents_seen += bucket["doc_count"].GetUint64();
    const auto& key = json["after_key"];
    after =
        fmt::format(R"(,"after":{{"b":"{}","n":{}}})", key["b"].GetString(), key["n"].GetInt64());
  }
  EXPECT_EQ(seen, 120U);  // 12 brands × 10 numbers
  EXPECT_EQ(documents_seen, 4000U);
}

TEST(Aggregations, PercentilesAndUnknownKindsHaveThePeersShape) {
  const auto text = aggregated(R"({"percentiles":{"field":"price","percents":[50]}})");
  EXPECT_TRUE(text.starts_with(R"({"values":[{"key":50,"value":)")) << text;
  EXPECT_EQ(aggregated(R"({"cardinality":{"field":"price"}})"), R"({"buckets":[]})");
}

TEST(Aggregations, RefuseWhatTheyCannotDo) {
  struct Case {
    std::string_view aggregation;
    int status;
    std::string_view words;
  };
  for (const auto& [aggregation, status, words] : {
           Case{R"({"terms":{"field":"brand"},"aggs":{"m":{"max":{"field":"price"}}}})", 400,
                R"(nested \"aggs\" is not supported)"},
           Case{R"({"terms":{"field":"nope"}})", 500, "group-by attribute 'nope' not found"},
           Case{R"({"terms":{}})", 400, "missing"},
           Case{R"({"histogram":{"field":"price"}})", 400, "positive"},
           Case{R"({"date_histogram":{"field":"ts","interval":"soon"}})", 400, "soon"},
           Case{R"({"range":{"field":"price"}})", 400, "ranges"},
           Case{R"({"composite":{"sources":[]}})", 400, "sources"},
           Case{R"({"terms":3})", 400, "object"},
           Case{"3", 400, "object"},
       }) {
    const auto answer = ask(whole_shop(), with_aggregation(aggregation));
    EXPECT_EQ(answer.status, status) << aggregation << answer.body;
    EXPECT_NE(answer.body.find(words), std::string::npos) << answer.body;
  }
}

TEST(Aggregations, OfTheHalvesAddUpToTheWhole) {
  const auto counts = [](const Engine& engine) {
    std::map<std::string, std::uint64_t> out;
    rapidjson::Document json;
    json.Parse(aggregation_of(
                   ask(engine, with_aggregation(R"({"terms":{"field":"brand","size":50}})")), "a")
                   .c_str());
    for (const auto& bucket : json["buckets"].GetArray())
      out[bucket["key"].GetString()] += bucket["doc_count"].GetUint64();
    return out;
  };
  auto sums = counts(half_shop(0));
  for (const auto& [brand, count] : counts(half_shop(1))) sums[brand] += count;
  EXPECT_EQ(sums, counts(whole_shop()));
}

TEST(Dates, StartTheirUnits) {
  constexpr std::int64_t kLeapNoon = 1'709'208'000;  // 2024-02-29T12:00:00, a Thursday
  EXPECT_EQ(date_text(kLeapNoon), "2024-02-29T12:00:00");
  EXPECT_EQ(read_date("2024-02-29T12:00:00"), kLeapNoon);
  EXPECT_EQ(read_date("2023-02-29"), std::nullopt);
  struct Case {
    Calendar unit;
    std::string_view start;
  };
  for (const auto& [unit, start] :
       {Case{Calendar::day, "2024-02-29T00:00:00"}, Case{Calendar::week, "2024-02-26T00:00:00"},
        Case{Calendar::month, "2024-02-01T00:00:00"},
        Case{Calendar::quarter, "2024-01-01T00:00:00"},
        Case{Calendar::year, "2024-01-01T00:00:00"}})
    EXPECT_EQ(date_text(start_of(unit, kLeapNoon)), start);
}

}  // namespace
}  // namespace karmad::demo
