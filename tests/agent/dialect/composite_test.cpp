#include <rapidjson/document.h>

#include <algorithm>
#include <map>
#include <random>

#include "tests/agent/dialect/search_support.hpp"

namespace karmad {
namespace {

std::string search(std::string_view composite, std::string_view more = "") {
  return R"({"table":"t","limit":0,"aggs":{"c":{"composite":{)" + std::string(composite) + "}" +
         std::string(more) + "}}}";
}

std::string asked(std::string_view composite, std::string_view more = "") {
  auto body = Searching().asked(search(composite, more));
  const auto at = body.find("\"aggs\":");
  return at == body.npos ? body : body.substr(at + 7, body.size() - at - 8);
}

/// The merged `c` of shards that answer with `buckets` each.
std::string merged(const std::string& body, const std::vector<std::string>& shards,
                   DialectSettings settings = {}) {
  std::vector<std::string> answers;
  for (const auto& buckets : shards)
    answers.push_back(answer(9, "", R"(,"aggregations":{"c":{"buckets":[)" + buckets + "]}}"));
  const auto all = Searching(settings).merged(body, answers);
  const auto at = all.find("\"c\":");
  return at == all.npos ? all : all.substr(at + 4, all.size() - at - 6);
}

constexpr std::string_view kTwo =
    R"("sources":[{"b":{"terms":{"field":"brand"}}},{"y":{"terms":{"field":"year","order":"desc"}}}])";

TEST(CompositePlan, AsksTheShardsForACommonOrder) {
  EXPECT_EQ(
      asked(R"("size":5,)" + std::string(kTwo)),
      R"({"c":{"composite":{"sources":[{"b":{"terms":{"field":"brand"}}},{"y":{"terms":{"field":"year","order":"desc"}}}],"size":200},"sort":[{"brand":{"order":"asc"}},{"year":{"order":"desc"}}]}})");
  // The client's own order, then the sources that it leaves out. By the field or by the name.
  for (const std::string sort : {R"([{"year":"desc"}])", R"([{"y":{"order":"desc"}},"y"])"})
    EXPECT_NE(
        asked(R"("sources":[{"b":{"terms":{"field":"brand"}}},{"y":{"terms":{"field":"year"}}}])",
              R"(,"sort":)" + sort)
            .find(R"("sort":[{"year":{"order":"desc"}},{"brand":{"order":"asc"}}])"),
        std::string::npos);
}

// As the server does: by the field first. Members of a JSON attribute have a case, attributes not.
TEST(CompositePlan, KnowsASourceByItsFieldBeforeItsName) {
  const std::string crossed =
      R"("sources":[{"year":{"terms":{"field":"brand"}}},{"brand":{"terms":{"field":"year"}}}])";
  const auto body = asked(crossed, R"(,"sort":["YEAR"])");
  EXPECT_NE(body.find(R"("sort":[{"year":{"order":"asc"}},{"brand")"), body.npos) << body;
  const std::string cases =
      R"("sources":[{"x":{"terms":{"field":"meta.s"}}},{"y":{"terms":{"field":"meta.S"}}}])";
  const auto json = asked(cases, R"(,"sort":["meta.S"])");
  EXPECT_NE(json.find(R"("sort":[{"meta.S":{"order":"asc"}},{"meta.s")"), json.npos) << json;
}

TEST(CompositePlan, WantsAThousandGroupsByDefault) {
  const auto body = asked(kTwo);
  EXPECT_NE(body.find("\"size\":1016"), std::string::npos) << body;
  EXPECT_NE(body.find("\"max_matches\":1016"), std::string::npos) << body;
}

// A shard without the group named in "after" would begin again with its first.
TEST(CompositePlan, AsksForTheGroupsFromTheFirstOn) {
  const auto body = asked(R"("size":5,"after":{"y":3,"b":"x"},)" + std::string(kTwo));
  EXPECT_EQ(body.find("after"), std::string::npos) << body;
  EXPECT_NE(body.find("\"size\":1000"), std::string::npos) << body;
}

TEST(CompositePlan, OrdersByNoMoreThanTheServerTakes) {
  std::string sources = "\"sources\":[";
  for (const char c : std::string_view("abcdefg"))
    sources +=
        std::string(c == 'a' ? "" : ",") + R"({")" + c + R"(":{"terms":{"field":")" + c + "\"}}}";
  const auto body = asked(sources + "]");
  EXPECT_NE(body.find(R"({"e":{"order":"asc"}}])"), std::string::npos) << body;
}

TEST(CompositePlan, RefusesWhatCannotBeMergedWithTheReason) {
  const struct {
    std::string_view composite, more, reason;
  } cases[] = {
      {R"("sources":[])", "", "no sources"},
      {R"("sources":[7])", "", "a source must be"},
      {R"("sources":[{"a":{"terms":{}}}])", "", "has no field"},
      {R"("sources":[{"a":{"terms":7}}])", "", "has no field"},
      {R"("sources":[{"a":{"terms":{"field":"a"}}},{"a":{"terms":{"field":"b"}}}])", "", "twice"},
      {kTwo, R"x(,"sort":["count(*)"])x", "not by \"count(*)\""},
      {kTwo, R"(,"sort":[{"brand":"up"}])", "\"asc\" or \"desc\""},
      {kTwo, R"(,"sort":7)", "must be a string, an object or an array"},
      {R"("after":7,"sources":[{"a":{"terms":{"field":"a"}}}])", "", "must be an object"},
      {R"("after":{"b":1},"sources":[{"a":{"terms":{"field":"a"}}}])", "", "no value for source"},
      {R"("after":{"a":1,"b":1},"sources":[{"a":{"terms":{"field":"a"}}}])", "",
       "one value for each"},
      {R"("after":{"a":[]},"sources":[{"a":{"terms":{"field":"a"}}}])", "", "a number or a text"},
      {R"("after":{"a":{}},"sources":[{"a":{"terms":{"field":"a"}}}])", "", "a number or a text"},
      {R"("size":0,"sources":[{"a":{"terms":{"field":"a"}}}])", "", "positive integer"},
  };
  for (const auto& c : cases) {
    const auto refusal = asked(c.composite, c.more);
    EXPECT_TRUE(refusal.starts_with("refused: ")) << refusal;
    EXPECT_NE(refusal.find(c.reason), std::string::npos) << refusal;
  }
}

TEST(CompositeMerge, IsCutToItsSizeAndNamesTheNextPage) {
  EXPECT_EQ(
      merged(
          search(R"("size":3,)" + std::string(kTwo)),
          {R"({"key":{"b":"a","y":2},"doc_count":1},{"key":{"b":"b","y":1},"doc_count":2})",
           R"({"key":{"b":"a","y":3},"doc_count":5},{"key":{"b":"A","y":2},"doc_count":4},{"key":{"b":"c","y":1},"doc_count":9})"}),
      R"({"after_key":{"b":"b","y":1},"buckets":[{"key":{"b":"a","y":3},"doc_count":5},{"key":{"b":"A","y":2},"doc_count":5},{"key":{"b":"b","y":1},"doc_count":2}]})");
  EXPECT_EQ(merged(search(kTwo), {"", ""}), R"({"buckets":[]})");
}

TEST(CompositeMerge, GoesOnBehindAfter) {
  const auto body = search(R"("size":3,"after":{"b":"A","y":2},)" + std::string(kTwo));
  EXPECT_EQ(
      merged(body,
             {R"({"key":{"b":"a","y":2},"doc_count":1},{"key":{"b":"a","y":1},"doc_count":2})",
              R"({"key":{"b":"a","y":3},"doc_count":5})"}),
      R"({"after_key":{"b":"a","y":1},"buckets":[{"key":{"b":"a","y":1},"doc_count":2}]})");
}

/// `count` groups of one source `n`, from `first` on.
std::string numbers(int first, int count) {
  std::string all;
  for (int i = first; i < first + count; ++i)
    all +=
        (all.empty() ? "" : ",") + (R"({"key":{"n":)" + std::to_string(i) + R"(},"doc_count":1})");
  return all;
}

constexpr std::string_view kNumber = R"("size":300,"sources":[{"n":{"terms":{"field":"n"}}}])";

TEST(CompositeMerge, EndsWhereAShardMayHaveMore) {
  // Of 1000 asked for the first shard has 1000, up to 999; the second may be done.
  const auto page = merged(search(kNumber), {numbers(800, 1000), numbers(700, 400)});
  EXPECT_TRUE(page.starts_with(R"({"after_key":{"n":999})")) << page.substr(0, 80);
  const auto cut = merged(search(kNumber), {numbers(0, 100), numbers(-900, 1000), numbers(50, 60)});
  EXPECT_TRUE(cut.starts_with(R"({"after_key":{"n":-601})")) << cut.substr(0, 80);
  const auto after = merged(search(R"("after":{"n":50},)" + std::string(kNumber)),
                            {numbers(0, 100), numbers(-900, 1000), numbers(50, 60)});
  EXPECT_TRUE(after.starts_with(R"({"after_key":{"n":98})")) << after.substr(0, 80);
}

TEST(CompositeMerge, NamesAShardThatMayHaveMoreAndIsNotInOrder) {
  const auto wrong = numbers(500, 500) + "," + numbers(0, 500);
  EXPECT_EQ(merged(search(kNumber), {numbers(0, 10), wrong}),
            "bad shard 1: the groups of aggregation \"c\" are not in the requested order");
  // What is whole may come in any order.
  EXPECT_TRUE(merged(search(kNumber), {numbers(0, 10), numbers(9, 1) + "," + numbers(3, 1)})
                  .starts_with(R"({"after_key":{"n":9})"));
}

TEST(CompositeMerge, FindsTheGroupAfterANumberInAnotherNotation) {
  const std::string groups =
      R"({"key":{"n":1.500000},"doc_count":1},{"key":{"n":10.000000},"doc_count":2},{"key":{"n":9.000000},"doc_count":3})";
  const std::string source = R"("sources":[{"n":{"terms":{"field":"meta.n"}}}])";
  EXPECT_EQ(
      merged(search(R"("after":{"n":1.5},)" + source), {groups}),
      R"({"after_key":{"n":9.000000},"buckets":[{"key":{"n":10.000000},"doc_count":2},{"key":{"n":9.000000},"doc_count":3}]})");
  EXPECT_EQ(merged(search(R"("after":{"n":10},)" + source), {groups}),
            R"({"after_key":{"n":9.000000},"buckets":[{"key":{"n":9.000000},"doc_count":3}]})");
  EXPECT_EQ(merged(search(R"("after":{"n":9},)" + source), {groups}), R"({"buckets":[]})");
}

/// A shard that pages as the search server does: in the order asked for, ties as they come.
class Shard {
 public:
  using Group = std::pair<std::string, std::string>;  ///< JSON values of the sources `a` and `b`

  std::map<Group, int> groups;

  std::string answer_to(const std::string& request, std::mt19937& random) const {
    rapidjson::Document asked;
    asked.Parse(request.data(), request.size());
    const auto& body = asked["aggs"]["c"];
    const auto size = body["composite"]["size"].GetUint();
    std::vector<std::pair<Group, int>> all(groups.begin(), groups.end());
    std::ranges::shuffle(all, random);
    std::ranges::stable_sort(all, [&](const auto& x, const auto& y) {
      for (const auto& item : body["sort"].GetArray()) {
        const auto& key = *item.MemberBegin();
        const bool first = std::string_view(key.name.GetString()) == "meta.a";
        auto left = first ? sort_text(x.first.first) : x.first.second;
        auto right = first ? sort_text(y.first.first) : y.first.second;
        if (std::string_view(key.value["order"].GetString()) == "desc") std::swap(left, right);
        const auto order = first ? left.compare(right) : std::stoi(left) - std::stoi(right);
        if (order != 0) return order < 0;
      }
      return false;
    });
    if (all.size() > size) all.resize(size);
    std::string buckets;
    for (const auto& [group, count] : all)
      buckets += (buckets.empty() ? "" : ",") +
                 (R"({"key":{"a":)" + group.first + R"(,"b":)" + group.second +
                  R"(},"doc_count":)" + std::to_string(count) + "}");
    return answer(9, "", R"(,"aggregations":{"c":{"buckets":[)" + buckets + "]}}");
  }

 private:
  /// Without quotes and case.
  static std::string sort_text(std::string_view value) {
    std::string text;
    for (const char c : value)
      if (c != '"') text += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return text == "null" ? "" : text;
  }
};

using Groups = std::map<Shard::Group, int>;

/// Documents spread over shards. 7 and "7" are one group, which each shard shows in one of these
/// forms.
Groups spread(std::vector<Shard>& shards, std::size_t documents, std::mt19937& random) {
  const std::string words[] = {"\"Red\"", "\"red\"", "\"RED\"", "\"blue\"", "null",    "7",
                               "\"7\"",   "10",      "9",       "\"x y\"",  "\"Blue\""};
  Groups all;
  for (std::size_t i = 0; i < documents; ++i) {
    const auto shard = random() % shards.size();
    Shard::Group group{words[random() % std::size(words)], std::to_string(random() % 60)};
    if (group.first == "7") group.first = "\"7\"";
    ++all[group];
    if (group.first == "\"7\"" && shard % 2 == 1) group.first = "7";
    ++shards[shard].groups[group];
  }
  return all;
}

Shard::Group group_in(const rapidjson::Value& bucket) {
  const auto& a = bucket["key"]["a"];
  return {a.IsNull()        ? "null"
          : a.IsString()    ? "\"" + std::string(a.GetString()) + "\""
          : a.GetInt() == 7 ? "\"7\""
                            : std::to_string(a.GetInt()),
          std::to_string(bucket["key"]["b"].GetInt())};
}

/// Adds the groups of the page after `after`, which becomes that of the next one. False: it has
/// none.
bool add_page(const std::vector<Shard>& shards, std::size_t size, std::string_view sort,
              std::string& after, Groups& seen, std::mt19937& random) {
  auto body = R"("size":)" + std::to_string(size) +
              R"(,"sources":[{"a":{"terms":{"field":"meta.a"}}},{"b":{"terms":{"field":"b"}}}])";
  if (!after.empty()) body += ",\"after\":" + after;
  const auto request = search(body, std::string(sort));
  const auto sent = Searching().asked(request);
  std::vector<std::string> answers;
  for (const auto& shard : shards) answers.push_back(shard.answer_to(sent, random));
  const auto whole_answer = Searching().merged(request, answers);
  rapidjson::Document merged;
  merged.Parse(whole_answer.data(), whole_answer.size());
  EXPECT_FALSE(merged.HasParseError()) << whole_answer;
  if (merged.HasParseError()) return false;
  const auto& answered = merged["aggregations"]["c"];
  if (answered["buckets"].Empty()) return false;
  for (const auto& bucket : answered["buckets"].GetArray()) {
    const auto group = group_in(bucket);
    EXPECT_TRUE(seen.emplace(group, bucket["doc_count"].GetInt()).second)
        << group.first << group.second;
  }
  const auto from = whole_answer.find("\"after_key\":") + 12;
  after = whole_answer.substr(from, whole_answer.find('}', from) + 1 - from);
  return true;
}

// Every group once, whole, and then the end: over JSON keys that tie, numbers, and null.
TEST(CompositePaging, ShowsEachGroupOnceAndEnds) {
  std::mt19937 random(11);
  for (int round = 0; round < 9; ++round) {
    std::vector<Shard> shards(1 + random() % 4);
    const auto expected = spread(shards, 50 + random() % 1200, random);
    const auto size = 1 + random() % 90;
    Groups seen;
    std::string after;
    int pages = 0;
    while (pages < 800 && add_page(shards, size, round % 3 == 0 ? R"(,"sort":[{"b":"desc"}])" : "",
                                   after, seen, random))
      ++pages;
    ASSERT_LT(pages, 800);
    EXPECT_EQ(seen, expected) << "round " << round;
  }
}

}  // namespace
}  // namespace karmad
