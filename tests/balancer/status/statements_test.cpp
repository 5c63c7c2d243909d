#include "agent/dialect/fronts/sql/sql_statement.hpp"

#include <gtest/gtest.h>

#include <string>

namespace karmad {
namespace {

TEST(Statements, AreUnderstoodInEveryForm) {
  const struct {
    std::string_view sql;
    StatusStatement statement;
  } cases[] = {
      {"SHOW AGENT STATUS", {Show::agents}},
      {" show\tagent\r\nstatus ; ", {Show::agents}},
      {"/* from a tool */ show agent status -- all of them", {Show::agents}},
      {"SHOW AGENT STATUS LIKE '%ping%'", {Show::agents, "", "%ping%"}},
      {"SHOW AGENT STATUS LIKE \"ag\\_0%\";", {Show::agents, "", "ag\\_0%"}},
      {"SHOW AGENT '127.0.0.1:9321' STATUS", {Show::agent, "127.0.0.1:9321"}},
      {"SHOW AGENT \"/run/s.sock\" STATUS LIKE 'x'", {Show::agent, "/run/s.sock", "x"}},
      {"SHOW AGENT 127.0.0.1:9321 STATUS", {Show::agent, "127.0.0.1:9321"}},
      {"show agent products status", {Show::agent, "products"}},
      {"SHOW AGENT`products`STATUS", {Show::agent, "products"}},
      {"SHOW AGENT status STATUS", {Show::agent, "status"}},
      {"SHOW AGENT 'status' STATUS", {Show::agent, "status"}},
      {"SHOW AGENT 'it''s' STATUS", {Show::agent, "it's"}},
      {"SHOW AGENT 'it\\'s' STATUS", {Show::agent, "it's"}},
      {"SHOW TABLES", {Show::tables}},
      {"show tables like 'p%'", {Show::tables, "", "p%"}},
      {"DESC products", {Show::table, "products"}},
      {"Describe `products`;;", {Show::table, "products"}},
      {"SHOW STATUS", {Show::status}},
      {"SHOW STATUS LIKE 'ag_products%'", {Show::status, "", "ag_products%"}},
      {"SHOW VERSION", {Show::version}},
  };
  for (const auto& c : cases) EXPECT_EQ(parse_statement(c.sql), AnyStatement{c.statement}) << c.sql;
}

TEST(Statements, LeaveSelectToOthers) {
  for (const auto* sql : {"SELECT 1", " select * from t where a='unended", "/*x*/Select*from t",
                          "select id from products limit 1; show meta", "select"})
    EXPECT_EQ(parse_statement(sql), AnyStatement{SelectStatement{}}) << sql;
}

TEST(Statements, ThatAreUnknownNameTheOnesThatAreKnown) {
  for (const auto* sql :
       {"", " ; ", "SHOW", "SHOW AGENT", "SHOW AGENT products", "SHOW AGENT STATUS WHERE a=1",
        "SHOW AGENT STATUS LIKE", "SHOW AGENT STATUS LIKE x", "SHOW AGENT STATUS LIKE 'a' 'b'",
        "SHOW AGENT '' STATUS", "'SHOW' AGENT STATUS", "SHOW AGENT 'x STATUS", "DESC",
        "SHOW VERSION LIKE 'x'", "SHOW META", "selected", "SHOW STATUS; SHOW TABLES",
        "a b c d e f g h i j k l m n o p", "\xff\xfe"}) {
    const auto parsed = parse_statement(sql);
    const auto* unknown = std::get_if<UnknownStatement>(&parsed);
    ASSERT_NE(unknown, nullptr) << sql;
    for (const std::string_view listed : {"SELECT, INSERT", "CALL", "SHOW META", "TABLE t STATUS",
                                          "AGENT 'host:port' STATUS", "SET"})
      EXPECT_NE(unknown->reason.find(listed), std::string::npos) << unknown->reason;
  }
}

TEST(Statements, AreQuotedShortAndCleanWhenUnknown) {
  const auto parsed = parse_statement("DROPS \xff" + std::string(1 << 20, 'x'));
  const auto& reason = std::get<UnknownStatement>(parsed).reason;
  EXPECT_TRUE(reason.starts_with("unknown statement in 'DROPS \xEF\xBF\xBDxxx")) << reason;
  EXPECT_LT(reason.size(), 600U);
}

TEST(Statements, OfAdministrationBelongToTheMirrors) {
  for (const auto* sql : {"DROP TABLE t", "drop;", "/* x */ Drop table t; DROP TABLE u",
                          "DROP a b c d e f g h i j k l m n", "DROP 'x"}) {
    const auto parsed = parse_statement(sql);
    const auto& reason = std::get<UnknownStatement>(parsed).reason;
    EXPECT_TRUE(
        reason.ends_with("changes servers or their tables, which karmad does not pass on; "
                         "send it to the mirrors themselves"))
        << reason;
  }
  for (const auto* word : {"CREATE TABLE t (a int)", "ALTER TABLE t ADD COLUMN a int",
                           "TRUNCATE TABLE t", "OPTIMIZE TABLE t", "FLUSH ATTRIBUTES", "KILL 1"}) {
    const auto parsed = parse_statement(word);
    EXPECT_TRUE(std::get<UnknownStatement>(parsed).reason.contains("to the mirrors")) << word;
  }
}

TEST(Statements, TakeNoPatternOfAnyLength) {
  const auto with_pattern = [](std::size_t length) {
    return parse_statement("SHOW STATUS LIKE '" + std::string(length, '%') + "'");
  };
  EXPECT_TRUE(std::holds_alternative<StatusStatement>(with_pattern(1024)));
  EXPECT_TRUE(std::holds_alternative<UnknownStatement>(with_pattern(1025)));
}

}  // namespace
}  // namespace karmad
