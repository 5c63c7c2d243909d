// What a plan prints of itself, for each kind of request.
#include <gtest/gtest.h>

#include "agent/dialect/kinds/dialect_kind.hpp"
#include "agent/dialect/kinds/dialects.hpp"
#include "agent/dialect/plan/two_rounds.hpp"
#include "tests/agent/dialect/search_support.hpp"

namespace karmad {
namespace {

std::unique_ptr<Dialect> dialect_at(std::string_view path) {
  for (const auto& endpoint : kManticore.endpoints)
    if (matches_pattern(endpoint.path, path)) return endpoint.make({.scroll_key = "a key"});
  return nullptr;
}

/// Three shards that are found by the id of a document; ids are made from 1001 on.
ShardLayout three_shards() {
  ShardLayout layout{3, ShardBy::id};
  layout.make_id = [id = std::uint64_t{1000}]() mutable { return ++id; };
  return layout;
}

std::string described(std::string_view path, std::string_view body,
                      ShardLayout layout = three_shards()) {
  const auto dialect = dialect_at(path);
  ClientRequest request{.method = "POST",
                        .path = path,
                        .query = path == "/sql" ? "mode=raw" : "",
                        .content_type = "application/json",
                        .body = body};
  if (path.starts_with("/pq/") || path.starts_with("/t/"))
    request.path_table = request.path_table_raw = path.substr(path.find('t'), 1);
  const auto parsed = dialect->parse(request);
  if (!parsed) return parsed.error().reason;
  const auto plan = dialect->plan(request, *parsed, std::move(layout));
  return plan ? describe(*plan) : plan.error().reason;
}

TEST(Description, OfASearchNamesItsPageItsOrderAndItsAggregations) {
  EXPECT_EQ(described("/search", R"({"table":"t"})"),
            "asks all shards: hits from 0, at most 20, by _score desc, id");
  EXPECT_EQ(
      described("/search", R"({"table":"t","offset":40,"limit":20,"sort":[{"price":"desc"}]})"),
      "asks all shards: hits from 40, at most 20, by price desc, id");
  EXPECT_EQ(
      described("/search", R"({"table":"t","limit":0,"aggs":{"b":{"terms":{"field":"brand"}},)"
                           R"("p":{"max":{"field":"price"}}}})"),
      "asks all shards: hits from 0, at most 0, by _score desc, id; aggregations b terms, p "
      "largest");
  EXPECT_EQ(described("/search", R"({"table":"t","sort":["price"],"limit":9,)"
                                 R"("knn":{"field":"v","query_vector":[1,2],"k":3}})"),
            "asks all shards: hits from 0, at most 3, by _knn_dist, price, id");
}

TEST(Description, OfAScrollSaysThatNoShardMayBeMissing) {
  EXPECT_EQ(described("/search", R"({"table":"t","sort":["price"],"options":{"scroll":true}})"),
            "asks all shards, none may be missing: hits from 0, at most 20, by price, id; scroll "
            "behind 0");
  EXPECT_EQ(described("/sql", "SELECT id FROM t ORDER BY id ASC OPTION scroll=1"),
            "asks all shards, none may be missing: documents from 0, at most 20, by 1; scroll "
            "behind 0; as raw");
}

TEST(Description, OfASearchNearADocumentHasBothRounds) {
  const auto dialect = dialect_at("/search");
  const auto request = Searching::post(R"({"table":"t","knn":{"field":"v","doc_id":7,"k":3}})");
  const auto parsed = dialect->parse(request);
  ASSERT_TRUE(parsed);
  auto plan = dialect->plan(request, *parsed, {3, ShardBy::id});
  ASSERT_TRUE(plan);
  const std::string hits = "hits from 0, at most 3, by _knn_dist, id";
  EXPECT_EQ(describe(*plan), "asks shard 2 of 3: vector v of document 7; then " + hits);
  const auto found = answer(1, R"({"_id":7,"_source":{"v":[1,2]}})");
  const std::array<ShardReply, 3> replies{{{}, {found}, {}}};
  EXPECT_TRUE(begin_next_round(*plan, replies).value());
  EXPECT_EQ(describe(*plan), "asks all shards: " + hits);
  EXPECT_EQ(described("/sql", "SELECT id FROM t WHERE KNN(v, 3, 7)"),
            "asks shard 2 of 3: vector v of document 7; then documents from 0, at most 3, by 2, "
            "1; the 3 nearest; hidden columns: 1; as raw");
}

TEST(Description, OfASelectNamesColumnsByTheirNumbers) {
  EXPECT_EQ(described("/sql", "SELECT id, price FROM t ORDER BY price DESC LIMIT 5, 10"),
            "asks all shards: documents from 5, at most 10, by 2 desc, 1; as raw");
  EXPECT_EQ(
      described("/sql",
                "SELECT brand, COUNT(*) n, AVG(price) FROM t GROUP BY brand HAVING n > 2 "
                "ORDER BY n DESC FACET price ORDER BY COUNT(*) DESC LIMIT 3"),
      "asks all shards: groups from 0, at most 20, by 2 desc, 6; key 6; folds 2 sum, 3 mean, 7 "
      "sum; having 2; hidden columns: 4; facet of groups from 0, at most 3, by 2 desc, 1; key "
      "1; folds 2 sum; as raw");
  EXPECT_EQ(
      described("/sql", "SELECT COUNT(DISTINCT brand) FROM t"),
      "asks all shards: groups from 0, at most 20; folds 1 distinct; lists of distinct pairs: "
      "1; as raw");
  EXPECT_EQ(described("/cli", "SELECT 1"),
            "asks shard 1 of 3: all result sets of one shard; as text");
}

TEST(Description, OfOtherStatements) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"CALL SUGGEST('lapto', 't', 4 AS limit)",
       "asks all shards: rows as suggestions, at most 4; as raw"},
      {"CALL KEYWORDS('a b', 't', 'docs' AS sort_mode)",
       "asks all shards: rows as keywords, by docs; as raw"},
      {"SHOW TABLE t STATUS", "asks all shards: rows with numbers added; as raw"},
      {"SHOW THREADS", "asks all shards: rows of all shards; as raw"},
      {"SHOW CREATE TABLE t", "asks shard 1 of 3: all result sets of one shard; as raw"},
      {"INSERT INTO t (id, price) VALUES (7, 1)", "asks shard 2 of 3: changed rows added; as raw"},
      {"UPDATE t SET price = 1 WHERE price = 2", "asks all shards: changed rows added; as raw"}};
  for (const auto& [statement, line] : cases) EXPECT_EQ(described("/sql", statement), line);
  EXPECT_EQ(described("/sql", "CALL SNIPPETS('a', 't', 'b')", 1),
            "asks shard 1 of 1, none may be missing: rows as they are; as raw");
}

TEST(Description, OfUpdatesInJsonNamesTheShardsOfTheirDocuments) {
  EXPECT_EQ(described("/update", R"({"table":"t","id":7,"doc":{"a":1}})"),
            "asks shard 2 of 3: counts of updates added");
  EXPECT_EQ(described("/bulk",
                      "{\"insert\":{\"table\":\"t\",\"id\":7,\"doc\":{}}}\n"
                      "{\"delete\":{\"table\":\"t\",\"id\":9}}\n"),
            "asks shard 1, 2 of 3: bulk items, lines: 2");
  EXPECT_EQ(described("/t/_bulk", "{\"index\":{}}\n{\"a\":1}\n{\"delete\":{\"_id\":\"7\"}}\n"),
            "asks shard 2, 3 of 3: _bulk items, lines: 2");
  EXPECT_EQ(described("/pq/t/doc/7", R"({"query":{"ql":"a"}})"),
            "asks shard 2 of 3: counts of updates added");
}

TEST(Description, OfTheOtherPathsNamesWhatIsMadeOfTheHits) {
  EXPECT_EQ(described("/pq/t/search", R"({"query":{"percolate":{"document":{}}}})"),
            "asks all shards: stored queries by id");
  EXPECT_EQ(described("/autocomplete", R"({"table":"t","query":"a"})"),
            "asks all shards: rows by rank; as raw");
  EXPECT_EQ(described("/t/_search", R"({"size":3})"),
            "asks all shards: hits from 0, at most 3, by _score desc, id; with index t");
  EXPECT_EQ(described("/t/_search", R"({"size":3})", 1),
            "asks all shards: the answer of one shard; with index t");
  EXPECT_EQ(described("/t/_count", ""),
            "asks all shards: hits from 0, at most 0, by _score desc, id; as a count");
}

TEST(Description, IsPrintableAndShort) {
  const auto line = described("/search", R"({"table":"t","sort":["grün",)" + std::string("\"") +
                                             std::string(5000, 'x') + R"("]})");
  EXPECT_EQ(line.size(), 1000u);
  EXPECT_TRUE(line.starts_with("asks all shards: hits from 0, at most 20, by gr??n, xxx")) << line;
}

}  // namespace
}  // namespace karmad
