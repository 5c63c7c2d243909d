#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "agent/dialect/fronts/json/read_request.hpp"
#include "tests/agent/dialect/search_support.hpp"

namespace karmad {
namespace {

/// Bytes in a block of exactly their size, so that a sanitizer sees a look beyond the end.
class Exact {
 public:
  explicit Exact(const std::string& text)
      : bytes_(std::make_unique<char[]>(text.size())), size_(text.size()) {
    std::memcpy(bytes_.get(), text.data(), size_);
  }
  std::string_view view() const { return {bytes_.get(), size_}; }

 private:
  std::unique_ptr<char[]> bytes_;
  std::size_t size_;
};

std::string mutated(std::string text, std::mt19937& random) {
  constexpr std::string_view likely = "{}[]\",:\\0129-.eEtfn \xFF\x00u";
  for (auto n = random() % 4; n > 0 && !text.empty(); --n) {
    const auto at = random() % text.size();
    switch (random() % 5) {
      case 0:
        text[at] = likely[random() % likely.size()];
        break;
      case 1:
        text.insert(at, 1, likely[random() % likely.size()]);
        break;
      case 2:
        text.erase(at, 1 + random() % 5);
        break;
      case 3:
        text.insert(random() % text.size(), text.substr(at, random() % 30));
        break;
      default:
        if (random() % 4 == 0) text.resize(at);
    }
  }
  return text;
}

TEST(MutatedReplies, AreMergedOrRefusedAndNeverCrash) {
  const Searching searching;
  const std::string body =
      R"x({"table":"t","limit":4,"offset":1,"sort":[{"brand":"desc"},{"meta.n":"asc"},"meta.l[1]['x']","_score"],"_source":{"excludes":["b*"]},"aggs":{"b":{"terms":{"field":"brand"}},"a":{"avg":{"field":"p"}},"r":{"range":{"field":"p","ranges":[{"to":1},{"from":1}]}},"h":{"histogram":{"field":"p","interval":2,"keyed":true}},"c":{"composite":{"sources":[{"x":{"terms":{"field":"p"}}}]}},"j":{"terms":{"field":"meta.s"},"sort":["meta.s"]},"m":{"min":{"field":"p"}},"s":{"sum":{"field":"p"}}}})x";
  const std::string reply = answer(
      3,
      R"({"_id":7,"_score":3,"_source":{"brand":"z\u00e9\"","meta":{"n":1.5,"l":[0,{"x":2.5e9}]},"p":[1,2]},"highlight":{"t":["<b>x</b>"]}},{"_id":"a","_score":2,"_source":{"brand":"b","meta.n":18446744073709551615}},{"_id":9,"_score":1,"_source":{"brand":null}})",
      R"(,"aggregations":{"b":{"buckets":[{"key":"z","doc_count":2},{"key":"b","doc_count":1}]},"a":{"value":1.50000000},"r":{"buckets":[{"key":"*-1","to":1,"doc_count":1},{"key":"1-*","from":1,"doc_count":2}]},"h":{"buckets":{"0":{"key":0,"doc_count":1},"2":{"key":2,"doc_count":2}}},"c":{"after_key":{"x":2},"buckets":[{"key":{"x":1},"doc_count":1},{"key":{"x":2},"doc_count":2}]},"j":{"buckets":[{"key":"Red","doc_count":1},{"key":10,"doc_count":1},{"key":9.500000,"doc_count":1},{"key":null,"doc_count":1}]},"m":{"value":1},"s":{"value":4.5}})");
  const auto request = Searching::post(body);
  const auto parsed = searching.dialect().parse(request);
  ASSERT_TRUE(parsed);
  const auto plan = searching.dialect().plan(request, *parsed, 3);
  ASSERT_TRUE(plan) << plan.error().reason;
  std::string out;
  const ShardReply unharmed[] = {{reply}};
  ASSERT_FALSE(merge(*plan, unharmed, {}, out)) << merge(*plan, unharmed, {}, out)->reason;
  std::mt19937 random(1);
  std::size_t merged = 0;
  for (int round = 0; round < 20'000; ++round) {
    const Exact one(mutated(reply, random));
    const Exact two(mutated(reply, random));
    const ShardReply replies[] = {{one.view()}, {}, {two.view()}};
    out.clear();
    const auto bad = merge(*plan, replies, {}, out);
    if (!bad) {
      ++merged;
      ASSERT_TRUE(out.starts_with("{\"took\":") && out.ends_with("}}"));
    } else {
      ASSERT_TRUE(bad->shard == 0 || bad->shard == 2);
      ASSERT_TRUE(out.empty());
    }
    searching.dialect().judge({200, "application/json", one.view()}, round % 2 == 0);
    searching.dialect().judge({500, "application/json", two.view()}, false);
  }
  EXPECT_GT(merged, 1000u);
  EXPECT_LT(merged, 19'000u);
}

// Of a page that each shard may have more of, so that their order is checked and the page is cut.
TEST(MutatedReplies, OfACompositeAreMergedOrRefusedAndNeverCrash) {
  const Searching searching;
  const std::string body =
      R"({"table":"t","limit":0,"aggs":{"c":{"composite":{"size":9,"after":{"n":1,"s":"a"},"sources":[{"n":{"terms":{"field":"n"}}},{"s":{"terms":{"field":"meta.s"}}}]}}}})";
  std::string groups;
  constexpr std::string_view kTexts[] = {"null", "10.500000", "9", "\"a\\u0041\"", "\"B\""};
  for (int i = 0; i < 1000; ++i)
    groups += (i == 0 ? "" : ",") + (R"({"key":{"n":)" + std::to_string(i / 5) + R"(,"s":)") +
              std::string(kTexts[i % 5]) + R"(},"doc_count":2})";
  const auto reply = answer(3, "", R"(,"aggregations":{"c":{"buckets":[)" + groups + "]}}");
  const auto request = Searching::post(body);
  const auto parsed = searching.dialect().parse(request);
  ASSERT_TRUE(parsed);
  const auto plan = searching.dialect().plan(request, *parsed, 2);
  ASSERT_TRUE(plan) << plan.error().reason;
  std::mt19937 random(3);
  std::string out;
  std::size_t merged = 0;
  for (int round = 0; round < 400; ++round) {
    const Exact one(mutated(reply, random));
    const Exact two(mutated(reply, random));
    const ShardReply replies[] = {{one.view()}, {two.view()}};
    out.clear();
    const auto bad = merge(*plan, replies, {}, out);
    if (!bad) ++merged;
    ASSERT_EQ(out.empty(), bad.has_value());
  }
  EXPECT_GT(merged, 40u);
  EXPECT_LT(merged, 360u);
}

TEST(MutatedRequests, AreReadOrRefusedAndNeverCrash) {
  const auto json = make_manticore_json({});
  const auto sql = make_manticore_sql({});
  const std::string bodies[] = {
      R"({"table":"t","limit":4,"offset":1,"sort":[{"brand":{"order":"desc"}},"meta['s'].a[2]","_score"],"_source":{"includes":["a*"],"excludes":["b?"]},"options":{"retry_count":3,"retry_delay":5,"max_matches":50},"index":"u","aggs":{"b":{"terms":{"field":"brand","size":3},"sort":{"brand":"asc"}},"c":{"composite":{"sources":[{"x":{"terms":{"field":"p"}}}],"after":{"x":1.5}},"sort":[{"p":{"order":"desc"}}]}}})",
      "select a, 'b\\'c', `d` /* e */ from `t` where x=1 \n option retry_count=3, "
      "agent_query_timeout=4;"};
  const std::vector<std::string> tables{"s1", "s2"};
  std::mt19937 random(2);
  std::string buffer;
  std::size_t read = 0;
  for (int round = 0; round < 20'000; ++round) {
    const Exact body(mutated(bodies[round % 2], random));
    const auto& dialect = round % 2 == 0 ? *json : *sql;
    const ClientRequest request{"POST", "/search", "", "", body.view()};
    const auto parsed = dialect.parse(request);
    if (!parsed) {
      ASSERT_FALSE(parsed.error().reason.empty());
      continue;
    }
    ++read;
    dialect.write(request, *parsed, tables, buffer);
    const auto plan = dialect.plan(request, *parsed, 2);
    if (plan) write_planned(*plan, 0, tables, buffer);
  }
  EXPECT_GT(read, 1000u);
}

TEST(MutatedUpdateAnswers, NameTheTableOrStayAsTheyCame) {
  const auto update = make_manticore_update({});
  const std::string answer =
      R"({"items":[{"bulk":{"table":"m","_id":1,"created":1}},{"insert":{"error":{"type":"x","table":"m"},"status":409}}],"errors":true,"error":{"reason":"y","index":"m"},"_index":"m"})";
  const Parsed parsed{.table = "products", .answer = PassedAnswer::with_table};
  std::mt19937 random(3);
  std::size_t told = 0;
  for (int round = 0; round < 20'000; ++round) {
    const Exact one(mutated(answer, random));
    const auto body = body_for_client(parsed, 200, one.view());
    if (!body) continue;
    ++told;
    ASSERT_LE(body->size(), 3 * one.view().size());
    ASSERT_FALSE(body_for_client(parsed, 200, *body)) << "nothing is left to be named: " << *body;
  }
  EXPECT_GT(told, 1000u);
}

TEST(MutatedUpdates, AreReadOrRefusedAndRenamedWhereTheyNameTheirTable) {
  const auto update = make_manticore_update({});
  const std::string bodies[] = {R"({"table":"t","id":1,"index":"u","doc":{"table":"x","a":[1,2]}})",
                                "{\"insert\":{\"table\":\"t\",\"id\":1,\"doc\":{}}}\n{\"delete\":{"
                                "\"index\":\"u\",\"table\":\"T\"}}\n"};
  const std::vector<std::string> tables{"mirrored"};
  std::mt19937 random(5);
  std::string buffer;
  std::size_t read = 0;
  for (int round = 0; round < 20'000; ++round) {
    const bool bulk = round % 2 != 0;
    const Exact body(mutated(bodies[bulk ? 1 : 0], random));
    const ClientRequest request{"POST", bulk ? "/bulk" : "/insert", "", "", body.view()};
    const auto parsed = update->parse(request);
    if (!parsed) continue;
    ++read;
    const auto written = update->write(request, *parsed, tables, buffer);
    const auto again = update->parse({"POST", request.path, "", "", written.body});
    ASSERT_TRUE(again) << written.body;
    ASSERT_EQ(again->table, "mirrored") << written.body;
  }
  EXPECT_GT(read, 1000u);
}

/// What `body` is read as where RapidJSON judges it, as it does one with an escape.
std::expected<Parsed, ClientError> read_wholly(const std::string& body) {
  constexpr std::string_view escaped = R"("\u0078":0,)";
  auto with_escape = body;
  with_escape.insert(body.find('{') + 1, escaped);
  auto parsed = read_search(with_escape, 40);
  if (!parsed) return parsed;
  auto* const read = std::get_if<SearchRequest>(&parsed->what);
  const auto back = [&](ByteRange& range) {
    if (range.found()) range = {range.begin - escaped.size(), range.end - escaped.size()};
  };
  std::ranges::for_each(read->properties, back);
  back(read->scroll_option);
  back(read->max_matches_option);
  read->closing_brace -= escaped.size();
  return parsed;
}

TEST(PlainRequests, AreReadAsThoseThatRapidJsonJudges) {
  std::mt19937 random(7);
  const std::string bodies[] = {
      R"({"table":"products","query":{"match":{"title":"brown fox"}},"limit":20})",
      R"({ "index" : "a" , "size":0,"from":10,"x":[1,-2.50,true,false,null,[],{},[ ],{ }],"sort":["_score",{"p":"desc"}] } )",
      R"({"table":"t","index":"u","options":{"ranker":"none","cutoff":7,"x":{"retry_count":99}},"_source":["a","b"],"aggs":{"a":{"terms":{"field":"brand"}}}})",
      R"({"table":"t","options":{"retry_count":1,"agent_query_timeout":100},"max_matches":123456789012345678901,"a":0.5e3})",
      R"({"table":"t","query":{"range":{"p":{"gte":-0.0,"lt":100}}},"track_scores":false,"limit":3,"offset":0,"profile":1,"knn":{"k":3}})"};
  std::size_t good = 0;
  for (int i = 0; i < 60'000; ++i) {
    const auto body = mutated(bodies[random() % std::size(bodies)], random);
    if (body.find('{') != body.find_first_not_of(" \n\t\r") || body.empty()) continue;
    const Exact exact(body);
    const auto parsed = read_search(exact.view(), 40);
    const auto wholly = read_wholly(body);
    ASSERT_EQ(parsed.has_value(), wholly.has_value()) << body;
    if (!parsed) continue;
    ++good;
    EXPECT_EQ(parsed->table, wholly->table) << body;
    const auto* const read = std::get_if<SearchRequest>(&parsed->what);
    const auto* const expected = std::get_if<SearchRequest>(&wholly->what);
    EXPECT_EQ(read->closing_brace, expected->closing_brace) << body;
    EXPECT_EQ(read->scroll_option, expected->scroll_option) << body;
    EXPECT_EQ(read->max_matches_option, expected->max_matches_option) << body;
    EXPECT_EQ(read->properties, expected->properties) << body;
  }
  EXPECT_GT(good, 10'000u);
}

TEST(PlainRequests, NestAsDeepAsIsAllowed) {
  const std::string body = R"({"table":"t","a":[[[{}]]]})";
  EXPECT_TRUE(read_search(body, 5));
  EXPECT_FALSE(read_search(body, 4));
  const auto deep = R"({"table":"t","a":)" + std::string(60, '[') + std::string(60, ']') + "}";
  EXPECT_TRUE(read_search(deep, 61));
  EXPECT_FALSE(read_search(deep, 60));
}

TEST(PlainRequests, HaveNoNumberBeyondTheLargestAndNoHalfOfAPair) {
  const auto with = [](std::string_view value) {
    return read_search(fmt::format(R"({{"table":"t","a":{0},"b":[{0}]}})", value), 40).has_value();
  };
  EXPECT_TRUE(with("1e308"));
  EXPECT_TRUE(with("1e-999"));
  EXPECT_FALSE(with("1e309"));
  EXPECT_TRUE(with(std::string(308, '9')));
  EXPECT_FALSE(with(std::string(310, '9')));
  EXPECT_TRUE(with(R"("\ud83d\ude00")"));
  EXPECT_FALSE(with(R"("\ud83d")"));
  EXPECT_FALSE(read_search(R"({"table":"t","\ud83d":1})", 40));
  EXPECT_FALSE(read_search(R"({"table":"t","a":{"\ud83d":1}})", 40));
}

}  // namespace
}  // namespace karmad
