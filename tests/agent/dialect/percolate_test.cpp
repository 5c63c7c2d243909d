#include <gtest/gtest.h>

#include "agent/dialect/kinds/dialects.hpp"
#include "agent/dialect/request/document_ids.hpp"
#include "tests/agent/dialect/search_support.hpp"

namespace karmad {
namespace {

constexpr auto* kPercolation =
    R"({"query":{"percolate":{"documents":[{"title":"a bag"},{"title":"index"}]}}})";

ClientRequest percolation(std::string_view body = kPercolation) {
  constexpr std::string_view kPath = "/pq/alerts/search";
  ClientRequest request{"POST", kPath, "", "application/json", body};
  request.path_table = request.path_table_raw = kPath.substr(4, 6);
  return request;
}

std::string stored(int id, std::string_view table, std::string_view slots) {
  return R"({"table":")" + std::string(table) + R"(","_type":"doc","_id":)" + std::to_string(id) +
         R"(,"_score":"1","_source":{"query":{"ql":"@title bag"}},"fields":{"_percolator_document_slot":[)" +
         std::string(slots) + "]}}";
}

TEST(Percolate, AsksAllShardsUnderTheirOwnNamesAndMergesTheHitsById) {
  const auto dialect = make_percolate_search({});
  const auto request = percolation();
  const auto parsed = dialect->parse(request);
  ASSERT_TRUE(parsed) << parsed.error().reason;
  EXPECT_EQ(parsed->table, "alerts");
  const std::string tables[] = {"part1"};
  std::string buffer;
  auto by_get = request;
  by_get.method = "GET";  // which servers refuse
  const auto plan = dialect->plan(by_get, *parsed, 2);
  ASSERT_TRUE(plan);
  const auto written = write_planned(*plan, 0, tables, buffer);
  EXPECT_EQ(written.method, "POST");
  EXPECT_EQ(written.target, "/pq/part1/search");
  EXPECT_EQ(written.body, kPercolation);
  const auto one = answer(2, stored(3, "part1", "1") + "," + stored(20, "part1", "1,2"));
  const auto other = answer(1, stored(7, "part2", "2"));
  const ShardReply replies[] = {{one}, {other}};
  std::string out;
  EXPECT_FALSE(merge(*plan, replies, {}, out));
  EXPECT_EQ(out, R"({"took":0,"timed_out":false,"hits":{"total":3,"max_score":1,"hits":[)" +
                     stored(3, "alerts", "1") + "," + stored(7, "alerts", "2") + "," +
                     stored(20, "alerts", "1,2") + "]}}");
  const ShardReply malformed[] = {{one}, {R"({"hits":{"total":1,"hits":[7]}})"}};
  out = "<";
  const auto bad = merge(*plan, malformed, {}, out);
  ASSERT_TRUE(bad);
  EXPECT_EQ(bad->shard, 1U);
  EXPECT_EQ(out, "<");
}

TEST(Percolate, RefusesBodiesThatAreNoObjectOrNameAnotherTable) {
  const auto dialect = make_percolate_search({.max_json_depth = 8});
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"", "must be a JSON object"},
      {"[]", "must be a JSON object"},
      {R"({"query":{})", "is not JSON"},
      {R"({} x)", "is not JSON"},
      {R"({"a":[[[[[[[[]]]]]]]]})", "nests deeper than max_json_depth = 8"},
      {R"({"Table":"other"})", "the table is named in the path"},
      {R"({"index":"other"})", "the table is named in the path"},
      {R"({"query":{},"join":[]})", "the table is named in the path; leave \"join\" out"},
      {R"({"Join":[]})", "the table is named in the path"},
      {R"({"table\u0000":"other"})", "the table is named in the path"},
      {R"({"query":{},"quer\u0079":{}})", "gives \"query\" twice"}};
  for (const auto& [body, why] : cases) {
    const auto parsed = dialect->parse(percolation(body));
    ASSERT_FALSE(parsed) << body;
    EXPECT_NE(parsed.error().reason.find(why), std::string::npos) << parsed.error().reason;
  }
}

ClientRequest storing(std::string_view path) {
  ClientRequest request{"PUT", path, "refresh=1", "application/json", R"({"query":{"ql":"a"}})"};
  request.path_table = request.path_table_raw = path.substr(path.find("alerts"), 6);
  return request;
}

TEST(Percolate, StoresAQueryInATableOfOneShard) {
  const auto dialect = make_stored_query({});
  const auto request = storing("/pq/alerts/doc/5");
  const auto parsed = dialect->parse(request);
  ASSERT_TRUE(parsed);
  EXPECT_FALSE(parsed->read);
  const std::string tables[] = {"part1"};
  std::string buffer;
  EXPECT_EQ(dialect->write(request, *parsed, tables, buffer).target, "/pq/part1/doc/5?refresh=1");
  EXPECT_EQ(body_for_client(*parsed, 200, R"({"table":"part1","_id":5})"),
            R"({"table":"alerts","_id":5})");
}

TEST(Percolate, StoresAQueryInTheShardOfTheIdInThePath) {
  const auto dialect = make_stored_query({});
  for (const auto* path : {"/pq/alerts/doc/5", "/json/pq/alerts/doc/5"}) {
    const auto request = storing(path);
    const auto plan = dialect->plan(request, *dialect->parse(request), {4, ShardBy::id, true});
    ASSERT_TRUE(plan) << plan.error().reason;
    const auto home = DocumentId::of_number("5")->shard(4);
    for (std::size_t shard = 0; shard < 4; ++shard)
      EXPECT_EQ(plan->asks(shard), shard == home) << path << shard;
  }
}

TEST(Percolate, RefusesToStoreAQueryWhoseShardIsUnknown) {
  const auto dialect = make_stored_query({});
  struct Case {
    const char* path;
    ShardLayout layout;
    const char* why;
  };
  const Case cases[] = {
      {"/pq/alerts/doc/5", {2}, "set shard_by = id"},
      {"/pq/alerts/doc", {2}, "set shard_by = id"},
      {"/pq/alerts/doc/a", {2, ShardBy::id}, "must be a number: 'a'"},
      {"/pq/alerts/doc/%35", {2, ShardBy::id}, "must be a number: '%35'"},
      {"/pq/alerts/doc/-5", {1, ShardBy::none, true}, "the request gives a new document the id -5"},
      {"/pq/alerts/doc/doc", {1, ShardBy::none, true}, "must be a number: 'doc'"}};
  for (const auto& [path, layout, why] : cases) {
    const auto request = storing(path);
    const auto refused = dialect->plan(request, *dialect->parse(request), layout);
    ASSERT_FALSE(refused) << path;
    EXPECT_EQ(refused.error().status, 400);
    EXPECT_NE(refused.error().reason.find(why), std::string::npos) << refused.error().reason;
  }
}

}  // namespace
}  // namespace karmad
