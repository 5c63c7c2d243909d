// Statements about karmad itself, and what is said of those that are not known.
#include "agent/dialect/request/sql_statement.hpp"

#include <gtest/gtest.h>

#include <string>

namespace karmad {
namespace {

sql::StatusStatement status(std::string_view sql) {
  const auto read = sql::read_statement(sql);
  EXPECT_TRUE(read) << sql << ": " << (read ? "" : read.error().reason);
  return read ? std::get<sql::StatusStatement>(*read) : sql::StatusStatement{};
}

std::string why_refused(std::string_view sql) {
  const auto read = sql::read_statement(sql);
  return read ? "read" : read.error().reason;
}

TEST(Statements, AreUnderstoodInEveryForm) {
  const struct {
    std::string_view sql;
    sql::StatusStatement statement;
  } cases[] = {
      {"SHOW AGENT STATUS", {sql::Show::agent_status}},
      {" show\tagent\r\nstatus ; ", {sql::Show::agent_status}},
      {"/* from a tool */ show agent status /* all of them */", {sql::Show::agent_status}},
      {"SHOW AGENT STATUS LIKE '%ping%'", {sql::Show::agent_status, "", "%ping%"}},
      {R"(SHOW AGENT STATUS LIKE "ag\_0%";)", {sql::Show::agent_status, "", R"(ag\_0%)"}},
      {"SHOW AGENT '127.0.0.1:9321' STATUS", {sql::Show::agent, "127.0.0.1:9321"}},
      {"SHOW AGENT \"/run/s.sock\" STATUS LIKE 'x'", {sql::Show::agent, "/run/s.sock", "x"}},
      {"SHOW AGENT 127.0.0.1:9321 STATUS", {sql::Show::agent, "127.0.0.1:9321"}},
      {"SHOW AGENT search-1.example.com:9312 STATUS",
       {sql::Show::agent, "search-1.example.com:9312"}},
      {"SHOW AGENT /run/s.sock STATUS", {sql::Show::agent, "/run/s.sock"}},
      {"DESC my-table", {sql::Show::table, "my-table"}},
      {"DESC 'option' LIKE '%'", {sql::Show::table, "option", "%"}},
      {"show agent products status", {sql::Show::agent, "products"}},
      {"SHOW AGENT`products`STATUS", {sql::Show::agent, "products"}},
      {"SHOW AGENT status STATUS", {sql::Show::agent, "status"}},
      {"SHOW AGENT 'status' STATUS", {sql::Show::agent, "status"}},
      {"SHOW AGENT 'it''s' STATUS", {sql::Show::agent, "it's"}},
      {"SHOW AGENT 'it\\'s' STATUS", {sql::Show::agent, "it's"}},
      {"SHOW TABLES", {sql::Show::tables}},
      {"show tables like 'p%'", {sql::Show::tables, "", "p%"}},
      {"DESC products", {sql::Show::table, "products"}},
      {"Desc `products`;;", {sql::Show::table, "products"}},
      {"SHOW STATUS", {sql::Show::status}},
      {"SHOW STATUS LIKE 'ag_products%'", {sql::Show::status, "", "ag_products%"}},
      {"SHOW VERSION", {sql::Show::version}},
  };
  for (const auto& c : cases) EXPECT_EQ(status(c.sql), c.statement) << c.sql;
}

TEST(Statements, OfTablesAreNoneAboutKarmad) {
  for (const auto* sql : {"SELECT 1", " select * from t where a='unended", "/*x*/Select*from t",
                          "select id from products limit 1; show meta", "select"})
    EXPECT_EQ(sql::kind_of_statement(sql), sql::StatementKind::select) << sql;
}

// A comment is read in one way, whatever the statement: engines differ on `#` and `--`.
TEST(Statements, HaveCommentsThatAllEnginesReadAlike) {
  for (const std::string statement :
       {"SHOW TABLES", "SHOW AGENT STATUS LIKE 'a%'", "SHOW VARIABLES", "SHOW THREADS",
        "SHOW TABLE t STATUS", "SHOW CREATE TABLE t", "SHOW META", "SELECT id FROM t", "SELECT 1",
        "SET NAMES utf8", "COMMIT", "DESC t", "CALL KEYWORDS('a', 't')", "DELETE FROM t",
        "INSERT INTO t VALUES (1)", "SHOW SESSION VARIABLES", "USE x"}) {
    EXPECT_EQ(why_refused(statement + " /* c */"), "read") << statement;
    EXPECT_EQ(why_refused("/* c */" + statement), "read") << statement;
    EXPECT_TRUE(why_refused(statement + " # c").starts_with("found #")) << statement;
    EXPECT_TRUE(why_refused(statement + " -- c").starts_with("found --")) << statement;
    EXPECT_TRUE(why_refused(statement + "/*! c */").starts_with("found /*!")) << statement;
    EXPECT_TRUE(why_refused("# c\n" + statement).starts_with("found #")) << statement;
  }
}

TEST(Statements, ThatAreUnknownNameTheOnesThatAreKnown) {
  for (const auto* sql : {"",
                          " ; ",
                          "SHOW",
                          "SHOW AGENT",
                          "SHOW AGENT products",
                          "SHOW AGENT STATUS WHERE a=1",
                          "SHOW AGENT STATUS LIKE",
                          "SHOW AGENT STATUS LIKE x",
                          "SHOW AGENT STATUS LIKE 'a' 'b'",
                          "SHOW AGENT '' STATUS",
                          "'SHOW' AGENT STATUS",
                          "SHOW AGENT 'x STATUS",
                          "DESC",
                          "SHOW VERSION LIKE 'x'",
                          "SHOW OTHER",
                          "SHOW x VARIABLES",
                          "show 7 variables",
                          "show on threads",

                          "selected",
                          "SHOW STATUS; SHOW TABLES",
                          "a b c d e f g h i j k l m n o p",
                          "\xff\xfe"}) {
    const auto reason = why_refused(sql);
    for (const std::string_view listed : {"SELECT, INSERT", "CALL", "SHOW META", "TABLE t STATUS",
                                          "AGENT 'host:port' STATUS", "SET"})
      EXPECT_NE(reason.find(listed), std::string::npos) << sql << ": " << reason;
  }
}

TEST(Statements, AreQuotedShortAndCleanWhenUnknown) {
  const auto reason = why_refused("DROPS \xff" + std::string(1 << 20, 'x'));
  EXPECT_TRUE(reason.starts_with("unknown statement in 'DROPS \xEF\xBF\xBDxxx")) << reason;
  EXPECT_LT(reason.size(), 600U);
}

TEST(Statements, OfAdministrationBelongToTheMirrors) {
  for (const auto* sql : {"DROP TABLE t", "drop;", "/* x */ Drop table t; DROP TABLE u",
                          "DROP a b c d e f g h i j k l m n", "DROP 'x"}) {
    const auto reason = why_refused(sql);
    EXPECT_TRUE(
        reason.ends_with("changes servers or their tables, which karmad does not pass on; "
                         "send it to the mirrors themselves"))
        << reason;
  }
  for (const auto* word : {"CREATE TABLE t (a int)", "ALTER TABLE t ADD COLUMN a int",
                           "TRUNCATE TABLE t", "OPTIMIZE TABLE t", "FLUSH ATTRIBUTES"}) {
    EXPECT_TRUE(why_refused(word).contains("to the mirrors")) << word;
  }
}

TEST(Statements, TakeNoPatternOfAnyLength) {
  const auto with_pattern = [](std::size_t length) {
    return why_refused("SHOW STATUS LIKE '" + std::string(length, '%') + "'");
  };
  EXPECT_EQ(with_pattern(1024), "read");
  EXPECT_NE(with_pattern(1025), "read");
}

}  // namespace
}  // namespace karmad
