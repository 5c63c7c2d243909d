// INSERT, REPLACE, UPDATE and DELETE over several shards.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "agent/dialect/request/document_ids.hpp"
#include "tests/agent/dialect/changes_support.hpp"
#include "tests/agent/dialect/sql_reading.hpp"

namespace karmad {
namespace {

std::string table_of(std::string_view statement) {
  const auto parsed = sql_reading::read_change(statement);
  return parsed ? parsed->table : "refused: " + parsed.error().reason;
}

PlannedChange sql(std::string_view statement, ShardLayout layout, RowForm form = RowForm::raw) {
  const auto parsed = sql_reading::read_change(statement);
  if (!parsed) return {{}, parsed.error().reason, parsed.error().status};
  return planned(plan_change({statement, statement}, *parsed, form, layout));
}

std::string id_in(std::size_t shard, int from = 1) {
  while (DocumentId::of_number(std::to_string(from))->shard(2) != shard) ++from;
  return std::to_string(from);
}

TEST(SqlChange, FindsTheTable) {
  for (const auto* statement :
       {"INSERT INTO t VALUES (1,'a')", "insert into `t` (title,id) values ('a',1),('b',2);",
        "REPLACE INTO t (id) VALUES (1) OPTION token_filter='x'", "update t set a=1 where id=1",
        "/* c */ DELETE FROM t WHERE match('x')", "REPLACE INTO t SET a='x' WHERE id=1",
        "UPDATE t SET a=1 WHERE b=2 ORDER BY id ASC", "DELETE FROM t WHERE a=1 GROUP BY b"})
    EXPECT_EQ(table_of(statement), "t") << statement;
}

TEST(SqlChange, RefusesWhatItCannotKnowWithThePlace) {
  for (const auto* statement :
       {"INSERT INTO t VALUES (1,'a') -- x", "INSERT INTO t VALUES (1,'a", "DELETE t WHERE id=1",
        "UPDATE t, u SET a=1", "UPDATE t SET a=1; DROP TABLE t", "DELETE FROM c:t WHERE id=1",
        "DELETE FROM t WHERE id IN (SELECT id FROM u)", "INSERT INTO t (id VALUES (1)",
        "INSERT INTO t VALUES (1,2", "UPDATE t SET a=1 # x", "INSERT INTO (id) VALUES (1)",
        "DROP TABLE t", "DELETE FROM `t`_secret WHERE id=1", "DELETE FROM t .x WHERE id=1",
        "INSERT INTO `t`_secret(id)VALUES(1)", "INSERT INTO t .x (id) VALUES (1)",
        "UPDATE `t`_secret SET a=1 WHERE id=1", "DELETE FROM t FORCE x",
        "INSERT INTO t VALUES (1,(2; DELETE FROM u WHERE id IN (1)))"})
    EXPECT_TRUE(table_of(statement).starts_with("refused")) << statement;
  EXPECT_EQ(table_of("UPDATE t a=1"), "refused: expected SET at offset 10");
}

TEST(SqlChange, NewRowsHaveIdsThatTheEngineKeeps) {
  const ShardLayout copies(1, ShardBy::none, true);
  for (const auto* id : {"-5", "'abc'", "' 5'", "'5.0'", "'18446744073709551616'"})
    for (const auto& layout : {ShardLayout(2, ShardBy::id), copies})
      EXPECT_TRUE(sql("INSERT INTO t VALUES (" + std::string(id) + ",'x')", layout)
                      .refused.contains("gives a new document the id " + std::string(id)))
          << id;
  EXPECT_EQ(sql("INSERT INTO t VALUES (-5,'x')", 1).refused, "");
  EXPECT_EQ(sql("DELETE FROM t WHERE id = -5", {2, ShardBy::id}).refused, "");
  EXPECT_EQ(sql("REPLACE INTO t VALUES ('5','x'),(18446744073709551615,'y')", copies).refused, "");
}

TEST(SqlChange, RowsAreSplitByTheirIds) {
  const auto a = id_in(0);
  const auto b = id_in(1);
  const auto a2 = id_in(0, std::stoi(a) + 1);
  const auto rows = "INSERT INTO t (title, id) VALUES ('(,;', " + a + "), ((1,2)," + b +
                    ") , ('x', '" + a2 + "') OPTION q=1";
  const auto split = sql(rows, {2, ShardBy::id});
  EXPECT_EQ(split.written(0),
            "INSERT INTO x (title, id) VALUES ('(,;', " + a + ") , ('x', '" + a2 + "') OPTION q=1");
  EXPECT_EQ(split.written(1, "a-b"),
            "INSERT INTO `a-b` (title, id) VALUES ((1,2)," + b + ") OPTION q=1");
  EXPECT_EQ(sql("REPLACE INTO t VALUES (" + b + ",'x')", {2, ShardBy::id}).written(0), "-");
  EXPECT_EQ(sql("UPDATE`t`SET a=1 WHERE id=" + a, 1).written(0, "y"),
            "UPDATE`y`SET a=1 WHERE id=" + a);
  // To the copies of one shard it goes as it is.
  EXPECT_EQ(sql("INSERT INTO t VALUES (1,'x')", {1, ShardBy::none, true}).written(0),
            "INSERT INTO x VALUES (1,'x')");
}

TEST(SqlChange, RowsWithoutAKnownShardAreRefused) {
  EXPECT_TRUE(sql("INSERT INTO t VALUES (1)", 2).refused.contains("set shard_by = id"));
  for (const auto* statement :
       {"INSERT INTO t VALUES ()", "INSERT INTO t (id) VALUES (NULL)",
        "INSERT INTO t VALUES (1,'a'),(1+1,'b')", "INSERT INTO t VALUES ('it''s','b')",
        "REPLACE INTO t SET a='x' WHERE id=1",
        "INSERT INTO t VALUES (1,'a') ON DUPLICATE KEY UPDATE a=1"}) {
    const auto refused = sql(statement, {2, ShardBy::id}).refused;
    EXPECT_TRUE(refused.contains("at offset")) << statement << ": " << refused;
    EXPECT_FALSE(sql(statement, {1, ShardBy::none, true}).refused.empty()) << statement;
  }
}

TEST(SqlChange, UpdatesGoToEveryShardUnlessTheConditionIsOneId) {
  const auto b = id_in(1);
  for (const auto* form : {"UPDATE t SET a=1 WHERE id=", "DELETE FROM t WHERE `id` = "}) {
    EXPECT_EQ(sql(form + b, {2, ShardBy::id}).written(0), "-") << form;
    EXPECT_NE(sql(form + b, {2, ShardBy::id}).written(1), "-") << form;
    EXPECT_NE(sql(form + b, 2).written(0), "-") << form;
    for (const auto* more : {" OR a=1", "+1", " AND a=1 OPTION x=1"})
      EXPECT_NE(sql(form + b + more, {2, ShardBy::id}).written(0), "-") << form << more;
  }
}

TEST(SqlChange, SumsTheRowsAndTellsOfFailures) {
  auto raw = sql("UPDATE t SET a=1", 2);
  const auto one = R"([{"total":1,"error":"","warning":""}])";
  EXPECT_EQ(raw.answer({done(0, one), done(1, R"([{"total":4,"error":"","warning":"w"}])")}),
            R"([{"total":5,"error":"","warning":"w"}])");
  EXPECT_EQ(raw.status, 200);
  EXPECT_EQ(raw.answer({done(0, one), lost(1, "agent m:2: gone")}),
            R"([{"total":1,"error":"shard 2: agent m:2: gone","warning":""}])");
  EXPECT_EQ(raw.status, 500);
  const auto refused = R"([{"total":0,"error":"unknown column: 'a'","warning":""}])";
  EXPECT_EQ(raw.answer({refusing(0, 200, refused), refusing(1, 200, refused)}), refused);
  EXPECT_EQ(raw.status, 500);
  auto text = sql("UPDATE t SET a=1", 2, RowForm::text);
  EXPECT_EQ(text.answer({done(0, "Query OK, 1 row affected (0.001 sec)\n"), done(1, one)}),
            "Query OK, 2 rows affected (0.000 sec)\n");
}

// One server changes the rows that have the value, and warns of the others.
TEST(SqlChange, AShardWhoseRowsLackAValueInsideJsonMakesAWarning) {
  const std::string behind = " attribute(s) can not be updated (not found or incompatible types)";
  const auto lacks = [&](std::string_view count, std::string_view table) {
    return fmt::format(R"({{"error":"table {}: {}{}"}})", table, count, behind);
  };
  const auto changed = [&](int rows, std::string_view count) {
    const auto warning = count.empty() ? std::string() : fmt::format("{}{}", count, behind);
    return fmt::format(R"([{{"total":{},"error":"","warning":"{}"}}])", rows, warning);
  };
  const auto two = lacks("2", "m");
  const auto three = lacks("3", "m");
  const auto none = changed(0, "");
  const auto four = changed(4, "");
  const auto one = changed(1, "4");
  auto change = sql("UPDATE t SET meta.a=5", 2);
  EXPECT_EQ(change.answer({refusing(0, 500, two), done(1, four)}), changed(4, "2"));
  EXPECT_EQ(change.status, 200);
  EXPECT_EQ(change.answer({done(0, one), refusing(1, 500, three)}), changed(1, "7"));
  EXPECT_EQ(change.status, 200);
  EXPECT_EQ(change.answer({refusing(0, 500, two), done(1, none)}), lacks("2", "t"));
  EXPECT_EQ(change.status, 500);
  EXPECT_EQ(change.answer({refusing(0, 500, two), refusing(1, 500, three)}), lacks("2", "t"));
  EXPECT_EQ(change.status, 500);
  change.answer({refusing(0, 500, two), lost(1, "agent m:2: gone")});
  EXPECT_EQ(change.status, 500);
}

}  // namespace
}  // namespace karmad
