#include "balancer/mysql/session_state.hpp"

#include <gtest/gtest.h>

#include "agent/dialect/fronts/sql/foreign_forms.hpp"

namespace karmad::mysql {
namespace {

TEST(LimitOfASelect, IsNeitherOneInBracketsNorThatOfAFacet) {
  for (const auto* limited :
       {"SELECT a FROM t LIMIT 1", "select a from t limit 2,3", "SELECT a FROM t Limit 3 OFFSET 2",
        "SELECT * FROM (SELECT a FROM t) ORDER BY a LIMIT 5", "SELECT a FROM t LIMIT 1 FACET a",
        "SELECT a FROM t WHERE MATCH('facet') AND b IN (1, 2) LIMIT 4", " ORDER BY a DESC LIMIT 2"})
    EXPECT_TRUE(sql::has_limit(limited)) << limited;
  for (const auto* unlimited :
       {"SELECT a FROM t", "SELECT * FROM (SELECT a FROM t LIMIT 5) ORDER BY a",
        "SELECT a FROM t FACET a LIMIT 5", "SELECT a FROM t WHERE MATCH('limit 5')",
        "SELECT `limit` FROM t", "SELECT a FROM t /* LIMIT 5 */", " ORDER BY a", ""})
    EXPECT_FALSE(sql::has_limit(unlimited)) << unlimited;
}

TEST(LimitOfASelect, IsAddedBeforeItsOptionsAndFacetsWhereServersWouldGiveMore) {
  const std::pair<const char*, const char*> cases[] = {
      {"SELECT a FROM t", "SELECT a FROM t LIMIT 3"},
      {"SELECT a FROM t ORDER BY b ASC OPTION cutoff=1",
       "SELECT a FROM t ORDER BY b ASC LIMIT 3 OPTION cutoff=1"},
      {"SELECT a FROM t FACET a LIMIT 5", "SELECT a FROM t LIMIT 3 FACET a LIMIT 5"},
      {"SELECT * FROM (SELECT a FROM t OPTION cutoff=1) ORDER BY a ASC",
       "SELECT * FROM (SELECT a FROM t OPTION cutoff=1) ORDER BY a ASC LIMIT 3"}};
  for (const auto& [select, limited] : cases) EXPECT_EQ(sql::with_limit(select, 3), limited);
  for (const auto* same : {"SELECT a FROM t LIMIT 5", "SELECT 1", "SELECT 'x FROM t", ""})
    EXPECT_EQ(sql::with_limit(same, 3), same);
  EXPECT_EQ(sql::with_limit("SELECT a FROM t", 0), "SELECT a FROM t LIMIT 0");
  EXPECT_EQ(sql::with_limit("SELECT a FROM t", 20), "SELECT a FROM t");
}

const ConnectionFacts kFacts{.id = 7,
                             .user = "ann",
                             .host = "10.0.0.1",
                             .database = "shop",
                             .last_insert_id = 900719925474099301,
                             .max_packet_size = 1000,
                             .idle_seconds = 300};

/// `ok`, `carry out`, an error's code, the rows, or `pass` for what goes to the pipeline.
std::string answer(std::string_view statement) {
  sql::StatementText text{.text = statement, .kind = sql::kind_of_statement(statement)};
  const auto local = answer_locally(text, kFacts);
  if (!local) return "pass";
  if (const auto* set = std::get_if<ResultSet>(&*local)) {
    std::string rows;
    for (std::size_t cell = 0; cell < set->cells.size(); ++cell) {
      const auto column = cell % set->columns.size();
      rows.append(column == 0 ? "{\"" : ",\"").append(set->columns[column].name).append("\":");
      rows.append(set->cells[cell]).append(column + 1 == set->columns.size() ? "}" : "");
    }
    return "[" + rows + "]";
  }
  if (const auto* error = std::get_if<Error>(&*local)) return std::to_string(error->code);
  const bool is_done = std::get<sql::SessionStatement>(*local) == sql::SessionStatement{};
  return is_done ? "ok" : "carry out";
}

TEST(LocalStatements, AreThoseAboutTheConnection) {
  const struct {
    const char* statement;
    const char* answer;
  } cases[] = {
      {"SET NAMES utf8mb4", "carry out"},
      {"SET autocommit=0, @a = 5;", "carry out"},
      {"START TRANSACTION", "carry out"},
      {"begin work", "carry out"},
      {"COMMIT", "carry out"},
      {"Rollback to x", "carry out"},
      {"KILL QUERY 7", "carry out"},
      {"SAVEPOINT s", "ok"},
      {"LOCK TABLES `a` READ /*!32311 LOCAL */, shop.b AS c READ", "ok"},
      {"lock tables a read;", "ok"},
      {"UNLOCK TABLES", "ok"},
      {"LOCK TABLES a READ, b WRITE", "pass"},
      {"LOCK TABLES a", "pass"},
      {"LOCK TABLES", "pass"},
      {"UNLOCK INSTANCE", "pass"},
      {"SET GLOBAL ha_strategy = random", "1064"},
      {"SELECT @@version_comment LIMIT 1", R"([{"@@version_comment":"karmad 0.1.0"}])"},
      {"select @@max_allowed_packet, @@session.wait_timeout AS `w`",
       R"([{"@@max_allowed_packet":1000,"w":300}])"},
      {"SELECT @@SESSION.`wait_timeout`, @`a b`, @@`AutoCommit` AS a",
       R"([{"@@SESSION.`wait_timeout`":300,"@`a b`":null,"a":1}])"},
      {"SELECT @'a b', @\"c\", 'd'", R"([{"@'a b'":null,"@\"c\"":null,"d":"d"}])"},
      {"SELECT _utf8mb4'x' AS a, 1", R"([{"a":"x","1":1}])"},
      {"SELECT concat(_binary 'x', 'y') AS b", R"([{"b":"xy"}])"},
      {"SELECT _binary'x' FROM t", "pass"},
      {"SELECT @@nothing", "1193"},
      {"SELECT @@global.`nothing`", "1193"},
      {"SELECT DATABASE()", R"=([{"DATABASE()":"shop"}])="},
      {"select USER(), connection_id() id, CURRENT_USER;",
       R"=([{"USER()":"ann@10.0.0.1","id":7,"CURRENT_USER":"ann@10.0.0.1"}])="},
      {"SELECT LAST_INSERT_ID(), @@identity, @@session.last_insert_id AS l",
       R"=([{"LAST_INSERT_ID()":900719925474099301,"@@identity":900719925474099301,)="
       R"("l":900719925474099301}])"},
      {"SELECT VERSION() FROM t", "pass"},
      {"SELECT 1, @@nothing FROM t", "pass"},
      {"SELECT 1", "pass"},
      {"SELECT id, @@version FROM t", "pass"},
      {"SELECT database", "pass"},
      {"SELECT @@nothing, @a", "1193"},
      {"SELECT @a, 1 AS one", R"([{"@a":null,"one":1}])"},
      {"USE shop", "carry out"},
      {"SHOW DATABASES", "pass"},
      {"SHOW VARIABLES", "pass"},
      {"SHOW WARNINGS", "[]"},
      {"SHOW AGENT STATUS", "pass"},
      {"BEGIN NOT ATOMIC", "1064"},
      {"/*!40101 SET NAMES utf8 */", "ok"},
      {"/*!40101 x */ DELETE FROM t", "pass"},
      {"/*! x */ DELETE FROM t /* */", "pass"},
  };
  for (const auto& c : cases) EXPECT_EQ(answer(c.statement), c.answer) << c.statement;
}

TEST(LocalStatements, CombineFactsAboutTheConnection) {
  const struct {
    const char* statement;
    const char* answer;
  } cases[] = {
      {"SELECT 1, @@autocommit", R"([{"1":1,"@@autocommit":1}])"},
      {"SELECT DATABASE() AS d, 5", R"([{"d":"shop","5":5}])"},
      {"SELECT LAST_INSERT_ID() AS i, 1.5 half, 'a b', \"c\" x",
       R"([{"i":900719925474099301,"half":1.5,"a b":"a b","x":"c"}])"},
      {"SELECT 'x', 2 FROM dual", "pass"},
      {"SELECT @@sql_auto_is_null, CONVERT_TZ('2001-01-01 01:00:00', 'UTC', 'UTC') IS NOT NULL z",
       R"([{"@@sql_auto_is_null":0,"z":0}])"},
      {"SELECT 1, CONNECTION_ID() FROM dual LIMIT 1", "pass"},
      {"SELECT 1, @@nothing", "1193"},
      {"SELECT CONNECTION_ID()+1", R"=([{"CONNECTION_ID()+1":8}])="},
      {"SELECT 1+1, @@sql_mode", R"([{"1+1":2,"@@sql_mode":""}])"},
      {"SELECT CURRENT_USER, DATABASE(), NOW()", "1064"},
      {"SELECT CONCAT('a', USER()) c", R"([{"c":"aann@10.0.0.1"}])"},
      {"SELECT 'it\\'s', @@autocommit a", R"([{"it's":"it's","a":1}])"},
      {"SELECT 'it''s', @@autocommit a", R"([{"it's":"it's","a":1}])"},
      {"SELECT VERSION() AS", "1064"},
      {"SELECT @@autocommit UNION SELECT 2", R"([{"@@autocommit":1}{"@@autocommit":2}])"},
      {"SELECT 0x1, USER()", "pass"},  // refused there: engines read it differently
      {"SELECT 1+1", "pass"},
      {"SELECT NOW()", "pass"},
      {"SELECT 1 version", "pass"},
      {"SELECT CONNECTION_ID()+1 FROM t", "pass"},
      {"SELECT 1, VERSION() FROM t", "pass"},
  };
  for (const auto& c : cases) EXPECT_EQ(answer(c.statement), c.answer) << c.statement;
  sql::StatementText typed_text{.text = "SELECT 1, 1.5, 'x', VERSION()",
                                .kind = sql::StatementKind::select};
  const auto typed = answer_locally(typed_text, kFacts);
  ASSERT_TRUE(typed && std::holds_alternative<ResultSet>(*typed));
  std::vector<std::string_view> types;
  for (const auto& column : std::get<ResultSet>(*typed).columns) types.push_back(column.type);
  EXPECT_EQ(types, (std::vector<std::string_view>{"long long", "double", "string", "string"}));
}

TEST(StatementKinds, AreThoseOfTheFirstWords) {
  using enum sql::StatementKind;
  const struct {
    sql::StatementKind kind;
    std::vector<std::string_view> statements;
  } cases[] = {{empty, {"", " /* c */ ", "/**/;"}},
               {select, {"select 1", "SELECT insert FROM t"}},
               {status, {"SHOW TABLES", "desc t", "SHOW"}},
               {call, {"CALL PQ('t','x')", "call"}},
               {show, {"SHOW TABLE t STATUS", "show threads", "SHOW CREATE TABLE t"}},
               {session,
                {"SHOW META", "set names utf8", "use x", "start", "kill 5", "savepoint x",
                 "release savepoint x"}},
               {administration, {"drop table t", "CREATE TABLE t(a int)"}},
               {insert, {"INSERT INTO t VALUES(1)", " /* c */ replace into t values(1);"}},
               {change, {"update t set a=1", "DELETE FROM t"}},
               {unknown, {"(select 1)", "/*! x */ select", "'insert'", "explain", "selected"}}};
  for (const auto& c : cases)
    for (const auto statement : c.statements)
      EXPECT_EQ(sql::kind_of_statement(statement), c.kind) << statement;
}

}  // namespace
}  // namespace karmad::mysql
