// Statements that tools for MySQL send by themselves, through the real program to demo agents.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <optional>

#include "tests/endtoend/mysql_master.hpp"

namespace karmad::test {
namespace {

/// karmad with the tables `one` and `two`, and a client with the database `shop`.
class ToolStatements : public testing::Test {
 protected:
  static constexpr unsigned kDocuments = 40;
  DemoAgent first_{"0/2", "demo", 0, kDocuments};
  DemoAgent second_{"1/2", "demo", 0, kDocuments};
  Master master_{" listen = 127.0.0.1:0:mysql\n",
                 fmt::format("table one {{\n type = distributed\n agent = {0}:products\n}}\n"
                             "table two {{\n type = distributed\n agent = {0}:products\n agent = "
                             "{1}:products\n}}\n",
                             first_.address(), second_.address())};
  int port_ = 0;

  void SetUp() override {
    const auto line = master_.process().wait_for(":mysql");
    ASSERT_TRUE(line);
    port_ = port_in(line->substr(0, line->rfind(':')));
    ASSERT_TRUE(master_.ready());
  }

  Response http(std::string_view path, std::string_view statement) const {
    return post(master_.port(), path, statement);
  }
};

struct Expected {
  std::string statement;
  std::optional<Rows> columns;
  Rows rows;
  int error = 0;
};

Rows names_in(std::string_view list) {
  Rows names;
  while (!list.empty()) {
    const auto name = list.substr(0, list.find(','));
    // A name with brackets has the comma of CONVERT_TZ('…', 'UTC', 'UTC').
    const bool goes_on = !names.empty() && std::ranges::count(names.back(), '(') >
                                               std::ranges::count(names.back(), ')');
    if (goes_on)
      names.back().append(",").append(name);
    else
      names.emplace_back(name);
    list.remove_prefix(std::min(name.size() + 1, list.size()));
  }
  return names;
}

std::vector<Expected> tool_statements() {
  std::ifstream file(KARMAD_SOURCE_DIR "/tests/endtoend/tool_statements.txt");
  std::vector<Expected> all;
  for (std::string line; std::getline(file, line);) {
    const auto rest = line.size() < 2 ? std::string() : line.substr(2);
    if (line.empty() || line[0] == '#') continue;
    if (line[0] == '=')
      all.back().columns = names_in(rest);
    else if (line[0] == '>')
      all.back().rows.push_back(rest);
    else if (line[0] == '!')
      all.back().error = std::stoi(rest);
    else
      all.push_back({.statement = line});
  }
  return all;
}

TEST_F(ToolStatements, AreAnswered) {
  const auto statements = tool_statements();
  EXPECT_GE(statements.size(), 190U);
  MysqlClient client(port_);
  EXPECT_EQ(client.command(2, "shop").error, 0);
  for (const auto& expected : statements) {
    const auto got = client.query(expected.statement);
    EXPECT_EQ(got.error, expected.error) << expected.statement << ": " << got.text;
    if (expected.columns) {
      EXPECT_EQ(got.columns, *expected.columns) << expected.statement;
    }
    for (std::size_t i = 0; i < expected.rows.size(); ++i) {
      const auto row = i < got.rows.size() ? got.rows[i] : std::string("none");
      EXPECT_TRUE(row.starts_with(expected.rows[i])) << expected.statement << ": " << row;
    }
  }
}

TEST_F(ToolStatements, DescribeTheColumnsInTheWordsOfMysql) {
  MysqlClient client(port_);
  for (const auto* table : {"one", "two"}) {
    const auto got = client.query(fmt::format("SHOW COLUMNS FROM {}", table));
    ASSERT_EQ(got.error, 0) << got.text;
    const auto has = [&](std::string_view row) {
      return std::ranges::find(got.rows, row) != got.rows.end();
    };
    EXPECT_TRUE(has("id|bigint|NO|PRI|NULL|"));
    EXPECT_TRUE(has("title|text|YES||NULL|"));
    EXPECT_TRUE(has("price|int unsigned|YES||NULL|"));
    EXPECT_TRUE(has("brand|varchar(16383)|YES||NULL|"));
    EXPECT_TRUE(has("rating|float|YES||NULL|"));
    EXPECT_TRUE(has("meta|json|YES||NULL|"));
  }
  const auto types = client.query(
      "SELECT ORDINAL_POSITION, COLUMN_NAME FROM "
      "information_schema.columns WHERE TABLE_NAME = 'one' LIMIT 2");
  EXPECT_EQ(types.types, (Rows{"8", "254"}));
  EXPECT_EQ(types.rows.size(), 2U);
  const auto prepared = client.prepare(
      "SELECT COLUMN_NAME FROM information_schema.columns WHERE TABLE_NAME = ? AND COLUMN_KEY = ?");
  EXPECT_EQ(client.execute(prepared, {"two", "PRI"}).rows, Rows{"id"});
}

// The schema has no other name than the one that the client has given, or the engine's.
TEST_F(ToolStatements, NameTheSchemaOfTheConnection) {
  MysqlClient client(port_);
  EXPECT_EQ(client.query("SELECT DATABASE()").rows, Rows{"Manticore"});
  EXPECT_EQ(client.query("SHOW DATABASES").rows, (Rows{"information_schema", "Manticore"}));
  const std::string_view tables =
      "SELECT TABLE_NAME FROM information_schema.tables WHERE TABLE_SCHEMA = DATABASE()";
  EXPECT_EQ(client.query(tables).rows, (Rows{"one", "two"}));
  EXPECT_EQ(client.query("USE market").error, 0);
  EXPECT_EQ(client.query(tables).rows, (Rows{"one", "two"}));
  EXPECT_EQ(client.query("SHOW TABLES FROM market").columns, Rows{"Tables_in_market"});
  EXPECT_EQ(client.query("SHOW TABLES FROM information_schema LIKE 'sch%'").rows,
            (Rows{"SCHEMA_PRIVILEGES", "SCHEMATA"}));
  EXPECT_EQ(client.query("SHOW TABLES FROM mysql").rows, Rows{});
}

TEST_F(ToolStatements, ThatAreWrongAreRefusedWithTheCodesOfMysql) {
  MysqlClient client(port_);
  const struct {
    const char* statement;
    int error;
  } cases[] = {
      {"SHOW COLUMNS FROM nosuch", 1146},
      {"SHOW INDEX FROM nosuch", 1146},
      {"DESCRIBE nosuch", 1146},
      {"SHOW CREATE TABLE `shop`.`nosuch`", 1146},
      {"SELECT a FROM information_schema.nosuch", 1146},
      {"SELECT nosuch FROM information_schema.tables", 1054},
      {"SELECT TABLE_NAME FROM information_schema.tables WHERE x.TABLE_NAME = 'a'", 1054},
      {"SELECT @@nosuch", 1193},
      {"SELECT NOSUCH(TABLE_NAME) FROM information_schema.tables", 1064},
      {"SELECT TABLE_NAME FROM information_schema.tables WHERE", 1064},
      {"SELECT TABLE_NAME FROM information_schema.tables)", 1064},
      {"SELECT 1 FROM dual; SELECT 2", 1064},
      {"SHOW COLUMNS", 1064},
      {"SHOW COLUMNS FROM two LIKE price", 1064},
      {"SHOW ENGINE x", 1064},
      {"EXPLAIN SELECT id FROM two", 1064},
  };
  for (const auto& c : cases) EXPECT_EQ(client.query(c.statement).error, c.error) << c.statement;
  std::string deep = "SELECT ";
  for (int i = 0; i < 1000; ++i) deep += '(';
  EXPECT_EQ(client.query(deep + " FROM dual").error, 1064);
  EXPECT_EQ(client
                .query("SELECT COUNT(*) FROM information_schema.columns a, "
                       "information_schema.columns b, information_schema.columns c")
                .error,
            1064);
  EXPECT_EQ(client.query("SHOW TABLES").error, 0);
}

TEST_F(ToolStatements, KnowTheColumnsOfTablesWhoseMirrorsWork) {
  second_.process().signal(SIGTERM);
  second_.process().wait();
  first_.control("mode=not_json");
  MysqlClient client(port_);
  EXPECT_NE(client.query("SHOW COLUMNS FROM one").error, 0);
  const auto none = client.query(
      "SELECT COLUMN_NAME FROM information_schema.columns WHERE TABLE_SCHEMA = DATABASE()");
  EXPECT_EQ(none.error, 0) << none.text;
  EXPECT_EQ(none.rows, Rows{});
  EXPECT_EQ(none.warnings, 1U);
  EXPECT_EQ(client.query("SHOW FULL TABLES").rows.size(), 2U);
  EXPECT_EQ(client.query("SHOW VARIABLES LIKE 'no%such'").error, 0);
  first_.control("mode=ok");
  EXPECT_EQ(client.query("SHOW COLUMNS FROM one").error, 0);
}

// Over HTTP as the search server answers.
TEST_F(ToolStatements, AreAnsweredOverHttpInTheWordsOfTheEngine) {
  const auto ask = [&](const char* statement) { return http("/sql?mode=raw", statement); };
  EXPECT_NE(
      ask("SHOW COLUMNS FROM two LIKE 'price'")
          .body.find(
              R"({"Field":"price","Type":"uint","Null":"NO","Key":"","Default":"","Extra":""})"),
      std::string::npos)
      << ask("SHOW COLUMNS FROM two LIKE 'price'").body;
  EXPECT_NE(ask("SHOW DATABASES").body.find(R"({"Database":"information_schema"})"),
            std::string::npos);
  EXPECT_NE(ask("SHOW COLLATION").body.find(R"("Id":33)"), std::string::npos);
  EXPECT_NE(ask("SHOW CHARACTER SET").body.find(R"("Charset":"utf8")"), std::string::npos);
  EXPECT_NE(ask("SHOW PLUGINS").body.find(R"({"Users":{"type":"string"}})"), std::string::npos);
  EXPECT_NE(ask("SHOW SESSION VARIABLES").body.find("pseudo_sharding"), std::string::npos);
  EXPECT_EQ(ask("SELECT nosuch FROM information_schema.tables").status, 400);
  EXPECT_EQ(ask("SHOW COLUMNS FROM nosuch").status, 404);
  EXPECT_EQ(http("/cli", "SHOW FULL TABLES").status, 200);
  EXPECT_NE(http("/cli", "DESCRIBE two").body.find("bigint"), std::string::npos);
}

}  // namespace
}  // namespace karmad::test
