#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "tests/agent/dialect/search_support.hpp"

namespace karmad {
namespace {

TEST(SearchRequest, NamesTheTableAndTheBytesThatSayIt) {
  const std::string_view body = R"({"query":{"table":"no"}, "table" : "pro\u0064ucts" ,"limit":3})";
  const auto parsed = Searching().parse(body);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->table, "products");
  EXPECT_EQ(parsed->table_place.in(body), R"("pro\u0064ucts")");
  EXPECT_TRUE(parsed->read);
}

TEST(SearchRequest, TakesIndexForTable) {
  EXPECT_EQ(Searching().parse(R"({"index":"products"})")->table, "products");
}

TEST(SearchRequest, OfTableAndIndexTheSearchServerReadsTable) {
  const Searching searching;
  const struct {
    std::string_view body, one_shard, several;
  } cases[] = {
      {R"({"table":"t","index":"t"})", R"({"table":"s","index":"s"})",
       R"({"table":"s","index":"s","limit":20})"},
      {R"({"limit":1,"index":"other","table":"t"})", R"({"limit":1,"index":"s","table":"s"})",
       R"({"limit":1,"index":"s","table":"s"})"},
      {R"({"table":"\u0074","limit":1,"index":"other","size":1})",
       R"({"table":"s","limit":1,"index":"s","size":1})",
       R"({"table":"s","limit":1,"index":"s","size":1})"},
  };
  for (const auto& c : cases) {
    const auto request = Searching::post(c.body);
    const auto parsed = searching.parse(c.body);
    ASSERT_TRUE(parsed) << parsed.error().reason;
    EXPECT_EQ(parsed->table, "t") << c.body;
    std::string buffer;
    const std::vector<std::string> tables{"s"};
    EXPECT_EQ(searching.dialect().write(request, *parsed, tables, buffer).body, c.one_shard);
    EXPECT_EQ(searching.asked(c.body), c.several);
  }
}

TEST(SearchRequest, MayHaveNoAggregationWithoutAKindWhichEndsAServer) {
  const Searching searching;
  for (const auto* aggs : {R"({"h":{},"x":{}})", R"({"a":{"max":{"field":"n"}},"b\"":{ }})"}) {
    const auto parsed =
        searching.parse(fmt::format(R"({{"table":"t","limit":0,"aggs":{}}})", aggs));
    ASSERT_FALSE(parsed) << aggs;
    EXPECT_EQ(parsed.error().status, 400);
    EXPECT_TRUE(parsed.error().reason.ends_with("has no kind")) << parsed.error().reason;
  }
  for (const auto* aggs : {"{}", R"({"a":{"max":{}}})", R"({"a":{"x":{},"y":1}})", "[{}]"})
    EXPECT_TRUE(searching.parse(fmt::format(R"({{"table":"t","aggs":{}}})", aggs))) << aggs;
}

TEST(SearchRequest, MayHaveNoNamesInAggregationsThatServersWriteIntoTheirAnswersAsTheyAre) {
  const Searching searching;
  const auto parse = [&](std::string_view aggs) {
    return searching.parse(fmt::format(R"({{"table":"t","aggs":{}}})", aggs));
  };
  for (const auto* aggs :
       {R"({"a":{"max":{"field":"n"}},"b\"c":{"max":{"field":"n"}}})", R"({"\u005c":{"max":{}}})",
        R"({"a":{"composite":{"sources":[{"x":{"terms":{}}},{"y\n":{"terms":{}}}]}}})"}) {
    const auto parsed = parse(aggs);
    ASSERT_FALSE(parsed) << aggs;
    EXPECT_TRUE(parsed.error().reason.contains("do not escape")) << parsed.error().reason;
  }
  for (const auto* aggs : {R"({"b'c.d é":{"max":{}}})", R"({"\u00e9\/":{"max":{}}})",
                           R"({"a":{"composite":{"sources":[{"x":{"terms":{}}},1]}}})"})
    EXPECT_TRUE(parse(aggs)) << aggs;
}

TEST(OneShard, GetsItsNameTwiceIfTheRequestAlsoNamesAnotherTable) {
  const Searching searching;
  const auto request = Searching::post(R"({"table":"t","index":"secret"})");
  const auto parsed = searching.dialect().parse(request);
  std::string buffer;
  const std::vector<std::string> tables{"t"};
  EXPECT_EQ(searching.dialect().write(request, *parsed, tables, buffer).body,
            R"({"table":"t","index":"t"})")
      << "an older server reads index";
}

TEST(SearchRequest, ReadsTheOptionsAQueryMaySetForItself) {
  const auto parsed = Searching().parse(
      R"({"table":"t","options":{"x":{"retry_count":99},"retry_count":8,"agent_query_timeout":400,
          "retry_delay":0},"retry_count":77})");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->options.retry_count, 8u);
  EXPECT_EQ(parsed->options.agent_query_timeout, 400ms);
  EXPECT_EQ(parsed->options.retry_delay, 0ms);
  EXPECT_EQ(Searching().parse(R"({"table":"t"})")->options.retry_count, std::nullopt);
}

TEST(SearchRequest, IsRefusedWithTheReason) {
  const struct {
    std::string_view body, reason;
  } cases[] = {
      {R"({"table":"products",)", "the request is not JSON"},
      {R"({"table":"t"} x)", "the request is not JSON"},
      {R"({"table":"t","a":1e999})", "the request is not JSON"},
      {"{\"table\":\"t\xFF\"}", "the request is not JSON"},
      {"", "the request is not JSON"},
      {R"(["table"])", "the request must be a JSON object"},
      {R"({"query":{"match_all":{}}})", "\"table\" is missing"},
      {R"({"table":7})", "\"table\" must be a string"},
      {R"({"index":["a"]})", "\"index\" must be a string"},
      {R"({"table":""})", "\"table\" is empty"},
      {R"({"table":"a","table":"b"})", "\"table\" is given twice"},
      {R"({"TABLE":"secret","table":"t"})",
       "the request has the key \"TABLE\", which some search servers read as \"table\" and others "
       "do not; name the table with \"table\""},
      {R"({"table":"t","Table":"secret"})", "which some search servers read as \"table\""},
      {R"({"table":"t","iNDEX":"secret"})", "which some search servers read as \"index\""},
      {R"({"table":"t","T\u0041BLE":"secret"})", "which some search servers read as \"table\""},
      {R"({"table":"t","table\u0000x":"secret"})",
       "has a key that begins with \"table\" and a zero byte, which some search servers read as"},
      {R"({"TABLE":"t"})", "which some search servers read as \"table\""},
      {R"({"table":"t","join":[{"type":"inner","table":"secret"}]})",
       "\"join\" at offset 20 names another table"},
      {R"({"table":"t","joi\u006E":[{"type":"inner","table":"secret"}]})",
       "\"join\" at offset 25 names another table"},
      {R"({"table":"t","join":[]})", "\"join\" at offset 20 names another table"},
      {R"({"table":"t","Join":[]})", "which some search servers read as \"join\""},
      {R"({"table":"t","JOIN":null,"join":null})", "which some search servers read as \"join\""},
      {R"({"table":"t","options":{"retry_count":9}})", "an integer from 0 to 8"},
      {R"({"table":"t","options":{"retry_count":-1}})", "an integer from 0 to 8"},
      {R"({"table":"t","options":{"retry_count":"2"}})", "an integer from 0 to 8"},
      {R"({"table":"t","options":{"retry_count":[2]}})", "an integer from 0 to 8"},
      {R"({"table":"t","options":{"agent_query_timeout":0}})", "an integer from 1 to"},
      {R"({"table":"t","options":{"retry_delay":1.5}})", "an integer from 0 to"},
  };
  for (const auto& c : cases) {
    const auto parsed = Searching().parse(c.body);
    ASSERT_FALSE(parsed) << c.body;
    EXPECT_EQ(parsed.error().status, 400);
    EXPECT_NE(parsed.error().reason.find(c.reason), std::string::npos) << parsed.error().reason;
  }
}

TEST(SearchRequest, MaySayThatItHasNoJoin) {
  EXPECT_TRUE(Searching().parse(R"({"table":"t","join":null,"query":{"join":[]}})"));
}

TEST(SearchRequest, ReportsThePlaceOfInvalidJson) {
  EXPECT_EQ(
      Searching().parse(R"({"table":"products" "x"})").error().reason,
      "the request is not JSON: Missing a comma or '}' after an object member. At offset 20.");
  EXPECT_EQ(Searching().parse("{\"table\":\"a\nb\"}").error().reason,
            "the request is not JSON: A control character in a string needs an escape, such as \\n "
            "or \\u0001. At offset 11.");
  EXPECT_EQ(Searching().parse(R"({"table":"\q"})").error().reason,
            "the request is not JSON: Invalid escape character in string. At offset 10.");
}

TEST(SearchRequest, SaysOfAnotherEncodingThatJsonIsUtf8) {
  using namespace std::string_view_literals;
  for (const auto body : {"\xFF\xFE{\0}\0"sv, "\xFE\xFF\0{\0}"sv, "{\0}\0"sv, "\0{\0}"sv})
    EXPECT_TRUE(Searching().parse(body).error().reason.contains("UTF-16, and JSON is UTF-8"));
}

TEST(SearchRequest, AZeroByteIsNotTheEnd) {
  using namespace std::string_view_literals;
  EXPECT_FALSE(Searching().parse("{\"table\":\"t\"}\0garbage"sv));
}

TEST(SearchRequest, NestsAsDeepAsAllowedAndNoDeeper) {
  const auto nested = [](std::size_t depth) {
    return R"({"table":"t","q":)" + std::string(depth, '[') + std::string(depth, ']') + "}";
  };
  const Searching ten({.max_json_depth = 10});
  EXPECT_TRUE(ten.parse(nested(9)));
  EXPECT_EQ(ten.parse(nested(10)).error().reason,
            "the request nests deeper than max_json_depth = 10 at offset 26");
}

TEST(SearchRequest, AHundredThousandOpenBracketsAreAnErrorAndNoCrash) {
  EXPECT_FALSE(Searching().parse(std::string(100'000, '[')));
  EXPECT_FALSE(Searching().parse(R"({"table":"t","q":)" + std::string(100'000, '[')));
  const Searching deep({.max_json_depth = 1'000'000});
  EXPECT_FALSE(deep.parse(R"({"table":"t","aggs":)" + std::string(100'000, '[') +
                          std::string(100'000, ']') + "}"));
  EXPECT_FALSE(deep.parse(R"({"table":"t","q":)" + std::string(100'000, '[')));
}

TEST(OneShard, GetsTheClientsOwnBytesWhenTheTableIsCalledTheSame) {
  const Searching searching;
  const std::string body = R"({"table":"t","limit":3})";
  const auto request = Searching::post(body);
  const auto parsed = searching.dialect().parse(request);
  std::string buffer;
  const std::vector<std::string> tables{"t"};
  const auto written = searching.dialect().write(request, *parsed, tables, buffer);
  EXPECT_EQ(written.body.data(), body.data()) << "not copied";
  EXPECT_EQ(written.target, "/search");
  EXPECT_EQ(written.method, "POST");
}

TEST(OneShard, GetsItsOwnTableNamesAndNothingElseChanged) {
  const Searching searching;
  auto request = Searching::post(R"( {"limit": 3, "table" : "t", "profile":true } )");
  request.query = "pretty";
  const auto parsed = searching.dialect().parse(request);
  std::string buffer = "what was there";
  const std::vector<std::string> tables{"t1", "delta\"1"};
  const auto written = searching.dialect().write(request, *parsed, tables, buffer);
  EXPECT_EQ(written.body, R"( {"limit": 3, "table" : "t1,delta\"1", "profile":true } )");
  EXPECT_EQ(written.target, "/search?pretty");
}

}  // namespace
}  // namespace karmad
