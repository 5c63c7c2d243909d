// Documents that come without an id: which of them get one, where it is written and what the answer
// tells of it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "agent/dialect/kinds/dialects.hpp"
#include "agent/dialect/request/document_ids.hpp"
#include "tests/agent/dialect/changes_support.hpp"
#include "tests/agent/dialect/sql_reading.hpp"
#include "tests/agent/dialect/updating.hpp"

namespace karmad {
namespace {

constexpr std::uint64_t kFirst = 1001;
const std::vector<std::string> kTables{"x"};

/// The ids that are made with it are 1001, 1002, …
ShardLayout making(ShardLayout layout) {
  layout.make_id = [next = kFirst]() mutable { return next++; };
  return layout;
}
ShardLayout by_id(std::size_t shards = 2) {
  return making({shards, ShardBy::id});
}
ShardLayout copies() {
  return making({1, ShardBy::none, true});
}
std::size_t home(std::uint64_t id) {
  return DocumentId::of(id).shard(2);
}

/// Keeps what the plan refers to.
struct PlannedUpdate {
  PlannedUpdate(std::string to, std::string with, const ShardLayout& layout)
      : path(std::move(to)), body(std::move(with)) {
    const auto request = Updating::post(path, body);
    const auto parsed = updating.dialect().parse(request);
    EXPECT_TRUE(parsed) << body;
    if (parsed) change = planned(updating.dialect().plan(request, *parsed, layout));
  }
  PlannedUpdate(const PlannedUpdate&) = delete;
  PlannedUpdate& operator=(const PlannedUpdate&) = delete;

  Updating updating;
  std::string path;
  std::string body;
  PlannedChange change;
};

TEST(MadeIds, OfADocumentInJsonStandBesideDocAndNothingElseChanges) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"table":"t","doc":{"a": 1.50}})", R"({"id":1001,"table":"x","doc":{"a": 1.50}})"},
      {R"( { "doc":{"b":2} , "table" : "t"} )", R"( {"id":1001, "doc":{"b":2} , "table" : "x"} )"},
      {R"({"table":"t", "id" : 0 ,"doc":{"b":2}})", R"({"table":"x", "id" : 1001 ,"doc":{"b":2}})"},
      {R"({"id":"0","table":"t","doc":{"b":2}})", R"({"id":1001,"table":"x","doc":{"b":2}})"},
      {R"({"index":"t","id":"","doc":{"b":2},"table":"t"})",
       R"({"index":"x","id":1001,"doc":{"b":2},"table":"x"})"},
      {R"({"id":null,"table":"t","doc":{"b":2}})", R"({"id":1001,"table":"x","doc":{"b":2}})"}};
  for (const auto* path : {"/insert", "/replace", "/json/insert", "/json/create"})
    for (const auto& [body, sent] : cases) {
      const PlannedUpdate to_copies(path, body, copies());
      EXPECT_EQ(to_copies.change.written(0), sent) << path;
      const PlannedUpdate to_shards(path, body, by_id());
      EXPECT_EQ(to_shards.change.written(home(kFirst)), sent) << path;
      EXPECT_EQ(to_shards.change.written(1 - home(kFirst)), "-") << path;
    }
}

// As in a server, which takes such a document with its id.
TEST(MadeIds, OfADocumentWithoutValuesAreRefused) {
  for (const auto* const body : {R"({"table":"t"})", R"({"table":"t","id":0,"doc":{}})",
                                 R"({"table":"t","doc":"a"})", R"({"table":"t","doc":[{"a":1}]})"})
    for (const auto* path : {"/insert", "/replace"})
      EXPECT_EQ(PlannedUpdate(path, body, by_id()).change.refused,
                "the request has no document with values in \"doc\"")
          << body;
  EXPECT_EQ(PlannedUpdate("/insert", R"({"table":"t","id":7})", by_id()).change.refused, "");
}

TEST(MadeIds, AreNotMadeForOtherUpdatesAndTables) {
  const ShardLayout one(1, ShardBy::id);  // without make_id: a call would throw
  const auto body = R"({"table":"t","id":0,"doc":{}})";
  EXPECT_EQ(PlannedUpdate("/insert", body, one).change.written(0),
            R"({"table":"x","id":0,"doc":{}})");
  const ShardLayout several(2, ShardBy::id, true);
  for (const auto* path : {"/update", "/delete"})
    EXPECT_EQ(PlannedUpdate(path, body, several).change.refused, "") << path;
  const auto given = R"({"table":"t","id":7,"doc":{}})";
  EXPECT_EQ(PlannedUpdate("/insert", given, several).change.written(home(7)),
            R"({"table":"x","id":7,"doc":{}})");
}

TEST(MadeIds, OfADocumentWithSeveralIdsAreRefused) {
  const auto body = R"({"table":"t","id":[],"doc":{}})";
  for (const auto& layout : {by_id(), copies()}) {
    const PlannedUpdate update("/insert", body, layout);
    EXPECT_EQ(update.change.refused,
              "the request makes one document with several ids; give one id, or none");
  }
}

TEST(MadeIds, OfABulkAreThoseOfItsAnswer) {
  const std::string without = R"({"insert":{"table":"t","doc":{}}})";
  const std::string zero = R"({"create":{"id":0,"table":"t","doc":{}}})";
  const std::string remove = R"({"delete":{"table":"t","id":5}})";
  PlannedUpdate bulk("/bulk", without + "\n" + zero + "\n" + remove + "\n\n" + without + "\n",
                     copies());
  EXPECT_EQ(bulk.change.written(0), R"({"insert":{"id":1001,"table":"x","doc":{}}})"
                                    "\n"
                                    R"({"create":{"id":1002,"table":"x","doc":{}}})"
                                    "\n"
                                    R"({"delete":{"table":"x","id":5}})"
                                    "\n\n"
                                    R"({"insert":{"id":1003,"table":"x","doc":{}}})"
                                    "\n");
  PlannedUpdate groups("/bulk", without + "\n" + zero + "\n\n" + without + "\n", by_id());
  const auto item = R"({"bulk":{"table":"x","_id":0,"created":1,"deleted":0,"updated":0,)"
                    R"("result":"created","status":201}})";
  const auto items = [&](int count) {
    std::string all = R"({"items":[)";
    for (int i = 0; i < count; ++i) all.append(i == 0 ? "" : ",").append(item);
    return all + R"(],"current_line":9,"skipped_lines":0,"errors":false,"error":""})";
  };
  std::map<std::size_t, std::set<int>> groups_of;
  for (const auto& [id, group] : {std::pair{1001, 0}, {1002, 0}, {1003, 1}})
    groups_of[home(static_cast<std::uint64_t>(id))].insert(group);
  std::vector<std::string> bodies;
  bodies.reserve(2);
  std::vector<ChangeReply> replies;
  for (const auto& [shard, of_it] : groups_of) {
    bodies.push_back(items(static_cast<int>(of_it.size())));
    replies.push_back(done(shard, bodies.back()));
  }
  const auto answer = groups.change.answer(std::move(replies));
  EXPECT_EQ(groups.change.status, 200);
  // The id of an item is that of the last line of its transaction.
  EXPECT_TRUE(answer.contains(R"({"items":[{"bulk":{"table":"t","_id":1002,)")) << answer;
  EXPECT_TRUE(answer.contains(R"({"bulk":{"table":"t","_id":1003,)")) << answer;
}

// Property: whatever the lines are, each document of a bulk has another id, and lies in its shard.
TEST(MadeIds, OfABulkDifferAndEachGoesToItsShard) {
  std::string lines;
  for (int i = 0; i < 500; ++i)
    lines += fmt::format("{{\"{}\":{{\"table\":\"t\"{},\"doc\":{{\"n\":{}}}}}}}\n",
                         i % 2 == 0 ? "insert" : "replace", i % 3 == 0 ? R"(,"id":"")" : "", i);
  const PlannedUpdate bulk("/bulk", lines, by_id());
  std::set<std::uint64_t> ids;
  for (const std::size_t shard : {0, 1}) {
    const auto sent = bulk.change.written(shard);
    for (auto at = sent.find("\"id\":"); at != sent.npos; at = sent.find("\"id\":", at + 1)) {
      const auto id = std::stoull(sent.substr(at + 5, 20));
      EXPECT_EQ(home(id), shard) << id;
      ids.insert(id);
    }
  }
  EXPECT_EQ(ids.size(), 500u);
  EXPECT_GT(*ids.begin(), 0u);
}

TEST(MadeIds, OfAnElasticBulkAreTheIdsOfItsItems) {
  const auto elastic = make_manticore_elastic({});
  const auto& dialect = *elastic;
  ClientRequest request{"POST", "/t/_bulk", "", kLines,
                        "{\"index\":{}}\n{\"a\":1}\n{\"create\":{\"_id\":\"0\"}}\n{}\n"
                        "{\"delete\":{\"_id\":\"7\"}}\n"};
  request.path_table = request.path_table_raw = request.path.substr(1, 1);
  const auto parsed = dialect.parse(request);
  ASSERT_TRUE(parsed) << parsed.error().reason;
  auto bulk = planned(dialect.plan(request, *parsed, copies()));
  EXPECT_EQ(bulk.written(0), R"({"insert":{"id":1001,"table":"x","doc":{"a":1}}})"
                             "\n"
                             R"({"insert":{"table":"x","id":1002,"doc":{}}})"
                             "\n"
                             R"({"delete":{"table":"x","id":7}})"
                             "\n");
  const auto answer = bulk.answer(
      {done(0, R"({"items":[],"current_line":3,"skipped_lines":0,"errors":false,"error":""})")});
  EXPECT_TRUE(answer.contains(R"({"index":{"_index":"t","_type":"doc","_id":"1001",)")) << answer;
  EXPECT_TRUE(answer.contains(R"({"create":{"_index":"t","_type":"doc","_id":"1002",)")) << answer;
}

TEST(MadeIds, OfADocumentInTheElasticFormAreSentWithIt) {
  const auto elastic = make_manticore_elastic({});
  const auto& dialect = *elastic;
  for (const auto& [path, sent] :
       {std::pair{"/t/_doc", R"({"id":1001,"table":"x","doc":{"a":1}})"},
        std::pair{"/t/_doc/0", R"({"table":"x","id":1001,"doc":{"a":1}})"}}) {
    ClientRequest request{"POST", path, "", kJson, R"({"a":1})"};
    request.path_table = request.path_table_raw = request.path.substr(1, 1);
    const auto parsed = dialect.parse(request);
    ASSERT_TRUE(parsed) << parsed.error().reason;
    const auto plan = planned(dialect.plan(request, *parsed, by_id()));
    EXPECT_EQ(plan.written(home(kFirst)), sent) << path;
    EXPECT_EQ(plan.written(1 - home(kFirst)), "-") << path;
  }
}

TEST(MadeIds, OfAStoredQueryBecomeItsPath) {
  const auto dialect = make_stored_query({});
  const std::pair<const char*, const char*> cases[] = {
      {"/pq/alerts/doc", "/pq/part/doc/1001"},
      {"/pq/alerts/doc/", "/pq/part/doc/1001"},
      {"/json/pq/alerts/doc/0", "/json/pq/part/doc/1001"}};
  for (const auto& [path, target] : cases) {
    ClientRequest request{"PUT", path, "", kJson, R"({"query":{"ql":"a"}})"};
    request.path_table = request.path_table_raw =
        request.path.substr(request.path.find("alerts"), 6);
    const auto parsed = dialect->parse(request);
    ASSERT_TRUE(parsed) << parsed.error().reason;
    for (const auto& layout : {by_id(), copies()}) {
      const auto plan = dialect->plan(request, *parsed, layout);
      ASSERT_TRUE(plan) << plan.error().reason;
      EXPECT_TRUE(plan->asks(layout.shards == 2 ? home(kFirst) : 0));
      std::string buffer;
      const std::string tables[] = {"part"};
      EXPECT_EQ(write_planned(*plan, 0, tables, buffer).target, target);
    }
  }
}

PlannedChange sql_made(std::string_view statement, const ShardLayout& layout) {
  const auto parsed = sql_reading::read_change(statement);
  if (!parsed) return {{}, parsed.error().reason, parsed.error().status};
  return planned(plan_change({statement, statement}, *parsed, RowForm::raw, layout));
}

TEST(MadeIds, OfRowsInSqlAreAColumnOfTheirOwnOrReplaceZero) {
  const std::pair<const char*, const char*> cases[] = {
      {"INSERT INTO t (title) VALUES ('a)'), ('b') OPTION q=1",
       "INSERT INTO x (id,title) VALUES (1001,'a)'), (1002,'b') OPTION q=1"},
      {"REPLACE INTO t ( title , tags )VALUES( 'a', (1,2) ) ;",
       "REPLACE INTO x (id, title , tags )VALUES(1001, 'a', (1,2) ) ;"},
      {"INSERT INTO t (title, ID) VALUES ('a', 0), ('b', 7),('c','')",
       "INSERT INTO x (title, ID) VALUES ('a', 1001), ('b', 7),('c',1002)"},
      {"INSERT INTO t VALUES (0,'a'),( '0' ,'b')", "INSERT INTO x VALUES (1001,'a'),( 1002 ,'b')"},
      {"insert t values (-0)", "insert x values (1001)"}};
  for (const auto& [statement, sent] : cases)
    EXPECT_EQ(sql_made(statement, copies()).written(0), sent);
}

TEST(MadeIds, OfRowsInSqlDecideTheirShard) {
  std::string statement = "INSERT INTO t (title) VALUES ";  // the plan refers to it
  for (int i = 0; i < 40; ++i) statement += fmt::format("{}('r{}')", i == 0 ? "" : ",", i);
  const auto change = sql_made(statement, by_id());
  const std::string sent[] = {change.written(0), change.written(1)};
  for (std::uint64_t i = 0; i < 40; ++i) {
    const auto row = fmt::format("({},'r{}')", kFirst + i, i);
    EXPECT_TRUE(sent[home(kFirst + i)].contains(row)) << row;
    EXPECT_FALSE(sent[1 - home(kFirst + i)].contains(row)) << row;
  }
  EXPECT_EQ(change.plan->last_insert_id, kFirst + 39);
}

TEST(MadeIds, OfRowsInSqlAreNotMadeWhereTheEngineMakesThem) {
  const ShardLayout one(1);  // without make_id: a call would throw
  for (const auto* statement :
       {"INSERT INTO t (title) VALUES ('a'), ('b')", "INSERT INTO t VALUES (0,'a')"}) {
    const auto change = sql_made(statement, one);
    auto expected = std::string(statement);
    expected[12] = 'x';
    EXPECT_EQ(change.written(0), expected);
    EXPECT_EQ(change.plan->last_insert_id, 0u);
  }
}

TEST(MadeIds, TheLastIdOfAStatementIsThatOfItsLastRow) {
  EXPECT_EQ(sql_made("INSERT INTO t (id) VALUES (0),(7)", copies()).plan->last_insert_id, 7u);
  EXPECT_EQ(sql_made("INSERT INTO t (id) VALUES (7),(0)", copies()).plan->last_insert_id, 1001u);
  EXPECT_EQ(sql_made("DELETE FROM t WHERE id=7", copies()).plan->last_insert_id, 0u);
  // A table of one mirror has no plan: what counts is the statement.
  const std::pair<const char*, std::uint64_t> cases[] = {
      {"INSERT INTO t (title,id) VALUES ('a',1),('b',18446744073709551615)", ~std::uint64_t{0}},
      {"REPLACE INTO t VALUES ('810005','a')", 810005},
      {"INSERT INTO t (id) VALUES (7),(0)", 0},
      {"INSERT INTO t (id) VALUES (-7)", 0},
      {"INSERT INTO t (id) VALUES ('x')", 0},
      {"INSERT INTO t (title) VALUES ('a')", 0},
      {"UPDATE t SET a=1 WHERE id=7", 0}};
  for (const auto& [statement, id] : cases) {
    const auto parsed = sql_reading::read_change(statement);
    ASSERT_TRUE(parsed) << statement;
    EXPECT_EQ(parsed->last_row_id(), id) << statement;
  }
}

}  // namespace
}  // namespace karmad
