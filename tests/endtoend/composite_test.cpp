// Paging through a composite aggregation over shards shows each group once, with its whole count,
// and ends.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidjson/document.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <map>

#include "tests/support/cluster.hpp"

namespace karmad::test {
namespace {

std::string text_of(const rapidjson::Value& value) {
  rapidjson::StringBuffer text;
  rapidjson::Writer<rapidjson::StringBuffer> writer(text);
  value.Accept(writer);
  return text.GetString();
}

constexpr unsigned kDocuments = 1200;

using Groups = std::map<std::string, std::uint64_t>;

/// Adds the groups of an answer to `groups` and gives its `after_key`; empty at the end.
std::string add_groups(const Response& answer, Groups& groups) {
  EXPECT_EQ(answer.status, 200) << answer.body;
  rapidjson::Document body;
  body.Parse(answer.body.data(), answer.body.size());
  if (body.HasParseError() || answer.status != 200) return "";
  const auto& composite = body["aggregations"]["c"];
  for (const auto& bucket : composite["buckets"].GetArray())
    EXPECT_TRUE(groups.emplace(text_of(bucket["key"]), bucket["doc_count"].GetUint64()).second)
        << "again: " << text_of(bucket["key"]);
  return composite["buckets"].Empty() ? "" : text_of(composite["after_key"]);
}

class Composite : public testing::Test {
 protected:
  Composite() { EXPECT_TRUE(master_.ready()); }

  /// What one agent with everything answers.
  Groups all(std::string_view sources) const {
    Groups groups;
    add_groups(post(whole_.port(), "/search",
                    fmt::format(R"({{"table":"products","limit":0,"max_matches":50000,"aggs":)"
                                R"({{"c":{{"composite":{{"size":50000,"sources":[{}]}}}}}}}})",
                                sources)),
               groups);
    return groups;
  }

  DemoAgent a_{"0/3", "a", 0, kDocuments};
  DemoAgent b_{"1/3", "b", 0, kDocuments};
  DemoAgent c_{"2/3", "c", 0, kDocuments};
  DemoAgent whole_{"0/1", "whole", 0, kDocuments};
  Master master_{"", fmt::format("table products {{\n type = distributed\n agent = {}:products\n"
                                 " agent = {}:products\n agent = {}:products\n}}",
                                 a_.address(), b_.address(), c_.address())};
};

TEST_F(Composite, OfSeveralShardsShowsEachGroupOnceAndEnds) {
  const struct {
    std::string_view sources;
    std::string_view sort;
    int size;
  } cases[] = {
      {R"({"p":{"terms":{"field":"price"}}})", "", 33},
      {R"({"b":{"terms":{"field":"brand"}}})", "", 1},
      {R"({"b":{"terms":{"field":"brand"}}})", R"(,"sort":[{"brand":"desc"}])", 7},
      {R"({"s":{"terms":{"field":"meta.s"}}},{"x":{"terms":{"field":"meta.color"}}})", "", 4},
      {R"({"h":{"terms":{"field":"meta.size.h"}}})", "", 170},
      {R"({"s":{"terms":{"field":"seller"}}},{"b":{"terms":{"field":"brand"}}})", "", 90},
      {R"({"s":{"terms":{"field":"seller"}}},{"p":{"terms":{"field":"price"}}})",
       R"(,"sort":[{"price":"desc"}])", 3000},
  };
  for (const auto& c : cases) {
    const auto expected = all(c.sources);
    ASSERT_GT(expected.size(), 3U) << c.sources;
    Groups groups;
    std::string after;
    std::size_t pages = 0;
    do {
      const auto behind = after.empty() ? "" : ",\"after\":" + after;
      after = add_groups(
          master_.search(fmt::format(
              R"({{"table":"products","limit":0,"max_matches":20000,"aggs":{{"c":{{"composite":)"
              R"({{"size":{},"sources":[{}]{}}}{}}}}}}})",
              c.size, c.sources, behind, c.sort)),
          groups);
      ASSERT_LE(++pages, expected.size() / static_cast<std::size_t>(c.size) + 2) << c.sources;
    } while (!after.empty());
    EXPECT_EQ(groups, expected) << c.sources;
  }
}

}  // namespace
}  // namespace karmad::test
