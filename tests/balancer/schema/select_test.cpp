// SELECTs from tables of values, and what SHOW becomes.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "agent/dialect/fronts/sql/schema_statements.hpp"
#include "agent/dialect/request/sql_statement.hpp"
#include "balancer/schema/show.hpp"
#include "balancer/schema/tables.hpp"

namespace karmad {
namespace {

SchemaValue text(std::string_view value) {
  return SchemaValue::of_text(value);
}
SchemaValue number(std::int64_t value) {
  return SchemaValue::of_number(value);
}

const SchemaTable kFruits{.columns = {{"name"}, {"color"}, {"price", true}},
                          .rows = {{text("Apple"), text("red"), number(10)},
                                   {text("pear"), text("green"), number(9)},
                                   {text("plum"), SchemaValue{}, number(100)}}};
const SchemaTable kColors{.columns = {{"color"}, {"code", true}},
                          .rows = {{text("RED"), number(1)}, {text("blue"), number(2)}}};

const SchemaFacts kFacts{.schema = "shop",
                         .user = "ann@home",
                         .connection = 7,
                         .version = "8.0",
                         .variable = [](auto name) -> std::optional<std::string> {
                           if (name == "@@x") return "5";
                           return std::nullopt;
                         }};

/// The columns, then the rows: `a,b:1|2;3|NULL`. Or the reason of an error.
std::string shown(const SchemaResult<SchemaTable>& table) {
  if (!table) return table.error().reason;
  std::string out;
  for (const auto& column : table->columns) out.append(out.empty() ? "" : ",").append(column.name);
  out += ':';
  for (std::size_t r = 0; r < table->rows.size(); ++r) {
    if (r > 0) out += ';';
    for (std::size_t c = 0; c < table->rows[r].size(); ++c)
      out.append(c == 0 ? "" : "|")
          .append(table->rows[r][c].is_null() ? "NULL" : table->rows[r][c].text);
  }
  return out;
}

std::string answer(std::string_view statement) {
  const auto select = read_schema_select(statement);
  if (!select) return select.error().reason;
  return shown(rows_of(
      **select,
      [](auto, auto table) -> const SchemaTable* {
        if (table == "fruits") return &kFruits;
        return table == "colors" ? &kColors : nullptr;
      },
      kFacts));
}

TEST(SchemaSelects, GiveTheRowsThatMysqlWouldGive) {
  const struct {
    const char* statement;
    const char* answer;
  } cases[] = {
      {"SELECT name FROM fruits", "name:Apple;pear;plum"},
      {"select f.Name AS n, price p from fruits f where `f`.`price` < 50 order by p",
       "n,p:pear|9;Apple|10"},
      {"SELECT * FROM fruits WHERE name = 'APPLE'", "name,color,price:Apple|red|10"},
      {"SELECT name FROM fruits WHERE color IS NULL", "name:plum"},
      {"SELECT name FROM fruits WHERE color <> 'red'", "name:pear"},
      {"SELECT name FROM fruits WHERE NOT color = 'red' OR price = '100'", "name:pear;plum"},
      {"SELECT name FROM fruits WHERE name LIKE 'p%' AND price BETWEEN 5 AND 20", "name:pear"},
      {"SELECT name FROM fruits WHERE name NOT LIKE 'p%'", "name:Apple"},
      {"SELECT name FROM fruits WHERE name IN ('plum', 'kiwi', NULL)", "name:plum"},
      {"SELECT name FROM fruits WHERE color IN (SELECT color FROM colors)", "name:Apple"},
      {"SELECT name FROM fruits f WHERE EXISTS (SELECT 1 FROM colors c WHERE c.color = f.color)",
       "name:Apple"},
      {"SELECT f.name, c.code FROM fruits f LEFT JOIN colors c ON c.color = f.color",
       "name,code:Apple|1;pear|NULL;plum|NULL"},
      {"SELECT name, code FROM fruits JOIN colors USING (color)", "name,code:Apple|1"},
      {"SELECT f.name, c.color FROM fruits f, colors c WHERE f.price > 50 AND c.code = 2",
       "name,color:plum|blue"},
      {"SELECT COUNT(*), COUNT(color), MIN(price), MAX(name), SUM(price) FROM fruits",
       "COUNT(*),COUNT(color),MIN(price),MAX(name),SUM(price):3|2|9|plum|119"},
      {"SELECT COUNT(*) FROM fruits WHERE price = 1", "COUNT(*):0"},
      {"SELECT COUNT(DISTINCT LEFT(name, 1)) n FROM fruits", "n:2"},
      {"SELECT LEFT(name, 1) l, GROUP_CONCAT(name ORDER BY name SEPARATOR '+') g FROM fruits GROUP "
       "BY l HAVING COUNT(*) > 1",
       "l,g:p|pear+plum"},
      {"SELECT DISTINCT LENGTH(name) FROM fruits ORDER BY 1", "LENGTH(name):4;5"},
      {"SELECT name FROM fruits ORDER BY price DESC LIMIT 1, 1", "name:Apple"},
      {"SELECT name FROM fruits ORDER BY price LIMIT 2 OFFSET 2", "name:plum"},
      {"SELECT x.n FROM (SELECT name n FROM fruits WHERE price < 10) AS x", "n:pear"},
      {"SELECT 'a' t UNION SELECT 'b' UNION SELECT 'a'", "t:a;b"},
      {"SELECT 'b' t UNION ALL SELECT 'a' UNION ALL SELECT 'a' ORDER BY t", "t:a;a;b"},
      {"SELECT 1+2*3, -(2-5), 7 % 4, 7/2", "1+2*3,-(2-5),7 % 4,7/2:7|3|3|3.5"},
      {"SELECT IF(1=1, 'y', 'n'), IFNULL(NULL, 2), COALESCE(NULL, NULL, 3), NULLIF(1, 1)",
       "IF(1=1, 'y', 'n'),IFNULL(NULL, 2),COALESCE(NULL, NULL, 3),NULLIF(1, 1):y|2|3|NULL"},
      {"SELECT CASE 2 WHEN 1 THEN 'a' WHEN 2 THEN 'b' ELSE 'c' END x, CASE WHEN NULL THEN 1 END y",
       "x,y:b|NULL"},
      {"SELECT SUBSTRING('hello', 2, 3) a, SUBSTRING_INDEX('a.b.c', '.', 2) b, "
       "SUBSTRING_INDEX('a.b.c', '.', -1) c, LOCATE('L', 'hello') d, REPLACE('aXa', 'a', 'b') e",
       "a,b,c,d,e:ell|a.b|c|3|bXb"},
      {"SELECT CAST('12abc' AS SIGNED) a, CONVERT('x' USING utf8) b, CONVERT(5, CHAR(3)) c",
       "a,b,c:12|x|5"},
      {"SELECT NULL = NULL a, NULL <=> NULL b, NULL AND 0 c, NULL OR 1 d, 1 XOR 1 e",
       "a,b,c,d,e:NULL|1|0|1|0"},
      {"SELECT 'it''s' a, 'b\\'c' b, _utf8'd' c, 'x\\_y' LIKE 'x\\_y' d", "a,b,c,d:it's|b'c|d|0"},
      {"SELECT 'a%b' LIKE 'a|%b' ESCAPE '|' x, 'axb' LIKE 'a|%b' ESCAPE '|' y", "x,y:1|0"},
      {"SELECT DATABASE(), USER(), CONNECTION_ID(), VERSION(), @@x",
       "DATABASE(),USER(),CONNECTION_ID(),VERSION(),@@x:shop|ann@home|7|8.0|5"},
      {"SELECT (SELECT name FROM fruits WHERE price = 9) AS n", "n:pear"},
      {"SELECT BINARY name COLLATE utf8_bin AS n FROM fruits LIMIT 1", "n:Apple"},
  };
  for (const auto& c : cases) EXPECT_EQ(answer(c.statement), c.answer) << c.statement;
}

TEST(SchemaSelects, ThatAreWrongSayWhy) {
  const struct {
    const char* statement;
    const char* reason;
  } cases[] = {
      {"SELECT nosuch FROM fruits", "Unknown column 'nosuch'"},
      {"SELECT x.name FROM fruits", "Unknown column 'x.name'"},
      {"SELECT a FROM nosuch", "unknown table 'nosuch'"},
      {"SELECT @@nosuch", "Unknown system variable 'nosuch'"},
      {"SELECT NOSUCH(1)", "the function nosuch with 1 arguments is not known here"},
      {"SELECT LEFT('a')", "the function left with 1 arguments is not known here"},
      {"SELECT name FROM fruits WHERE COUNT(*) > 1", "count() cannot stand there"},
      {"SELECT 1 UNION SELECT 1, 2", "the SELECTs of a UNION have different numbers of columns"},
  };
  for (const auto& c : cases) EXPECT_EQ(answer(c.statement), c.reason) << c.statement;
  for (const auto* statement :
       {"", "SELECT", "SELECT 1 AS", "SELECT 1,", "SELECT (1", "SELECT 1)", "SELECT 1 FROM",
        "SELECT name FROM fruits WHERE", "SELECT name FROM fruits ORDER", "SELECT 'x",
        "SELECT name FROM fruits LIMIT x", "SELECT CASE 1 END FROM", "SELECT 1 IN", "SELECT f(",
        "SELECT name FROM fruits LEFT colors", "SELECT 1 # c",
        "SELECT name FROM fruits f JOIN colors USING color"})
    EXPECT_FALSE(read_schema_select(statement)) << statement;
}

TEST(SchemaSelects, HaveBounds) {
  for (const std::string_view part : {"(", "NOT ", "-", "IF(", "CASE WHEN ", "(SELECT "}) {
    std::string deep = "SELECT ";
    for (int i = 0; i < 5000; ++i) deep += part;
    EXPECT_FALSE(read_schema_select(deep)) << part;
  }
  std::string sources = "SELECT 1 FROM fruits";
  for (int i = 0; i < 15; ++i) sources += fmt::format(", fruits f{}", i);
  EXPECT_TRUE(answer(sources).contains("too many rows"));
  EXPECT_FALSE(read_schema_select(sources + ", fruits g"));
  std::string wide = "SELECT 1";
  for (int i = 0; i < 5000; ++i) wide += " OR 1";
  EXPECT_TRUE(read_schema_select(wide));
}

// Words of the language in any order: each is carried out or refused.
TEST(SchemaSelects, OfAnyWordsEnd) {
  constexpr std::string_view kWords[] = {
      "SELECT ",    "name",      " FROM ",  "fruits",  " f",          ",",
      "(",          ")",         "*",       "f.",      "`color`",     " WHERE ",
      " AND ",      " OR ",      " NOT ",   " = ",     "'a%'",        " LIKE ",
      "1",          " IN (",     "NULL",    " IS ",    " CASE ",      " WHEN ",
      " THEN ",     " END ",     "COUNT(",  "IF(",     "CONCAT(",     " GROUP BY ",
      " ORDER BY ", " LIMIT 1",  " UNION ", "EXISTS ", " LEFT JOIN ", " ON ",
      " USING (",   "colors",    " AS x",   "-",       "@@x",         "_utf8",
      "DISTINCT ",  " BETWEEN ", "\\",      "''",      ";",           "SUBSTRING_INDEX('a.b','.',"};
  std::minstd_rand random(7);
  std::size_t carried_out = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string statement = "SELECT name FROM fruits WHERE ";
    if (random() % 2 == 0) statement = "SELECT ";
    for (auto words = random() % 14; words > 0; --words)
      statement += kWords[random() % std::size(kWords)];
    const auto select = read_schema_select(statement);
    if (!select) continue;
    ++carried_out;
    EXPECT_FALSE(answer(statement).empty()) << statement;
  }
  EXPECT_GT(carried_out, 100U);
}

TEST(SchemaStatements, AreKnownByTheirFirstWords) {
  for (const auto* statement :
       {"SHOW FULL TABLES", "show columns from t", "SHOW INDEX FROM t", "SHOW TABLE STATUS",
        "SHOW TABLE STATUS LIKE 'a'", "SHOW TABLES FROM x", "SHOW GLOBAL STATUS", "DESCRIBE t",
        "EXPLAIN t", "DESC t TABLE", "SHOW CREATE TABLE `a`.`b`", "SHOW CREATE DATABASE x",
        "SHOW /*!50002 FULL */ TABLES", "SELECT 1 FROM dual",
        "SELECT a FROM information_schema.tables", "SELECT a FROM `INFORMATION_SCHEMA`.`TABLES`",
        "SELECT a FROM (SELECT b FROM information_schema.x) y", "SELECT a FROM mysql.user"})
    EXPECT_EQ(kind_of_statement(statement), StatementKind::schema) << statement;
  for (const auto* statement :
       {"SHOW TABLES", "SHOW TABLES LIKE 'a'", "SHOW STATUS LIKE 'x'", "DESC t",
        "SHOW TABLE t STATUS", "SHOW INDEX t STATUS", "SHOW TABLE status STATUS",
        "SHOW CREATE TABLE t", "EXPLAIN SELECT 1", "SHOW VARIABLES", "SHOW SESSION VARIABLES",
        "SELECT 1", "SELECT a FROM t WHERE MATCH('information_schema.tables')",
        "SELECT a FROM dual_band", "SELECT information_schema.a FROM t", "SELECT a FROM mysql"})
    EXPECT_NE(kind_of_statement(statement), StatementKind::schema) << statement;
  const std::string long_list(kLongestSchemaStatement, ' ');
  EXPECT_EQ(kind_of_statement("SELECT a FROM information_schema.tables" + long_list),
            StatementKind::select);
}

std::string columns_shown(std::string_view statement, bool is_mysql = true) {
  auto facts = kFacts;
  facts.is_mysql = is_mysql;
  const SchemaContents contents{.tables = {"goods"},
                                .columns = {{"goods",
                                             {{"id", "bigint"},
                                              {"t", "text"},
                                              {"n", "uint:3"},
                                              {"ok", "bool"},
                                              {"ts", "timestamp"},
                                              {"v", "float_vector"},
                                              {"m", "mva64"}}}}};
  SchemaTables tables(contents, facts, statement);
  const auto read = read_schema_statement(statement, facts);
  if (!read) return read.error().reason;
  return shown(rows_of(
      *read->select, [&](auto schema, auto table) { return tables.find(schema, table); }, facts));
}

TEST(SchemaStatements, ShowColumnsInTheWordsOfMysqlOrOfTheEngine) {
  EXPECT_EQ(columns_shown("SHOW COLUMNS FROM goods WHERE Field <> 't'"),
            "Field,Type,Null,Key,Default,Extra:id|bigint|NO|PRI|NULL|;n|int unsigned|YES||NULL|;"
            "ok|tinyint(1)|YES||NULL|;ts|int unsigned|YES||NULL|;v|text|YES||NULL|;"
            "m|text|YES||NULL|");
  EXPECT_EQ(columns_shown("SHOW COLUMNS IN goods LIKE '_'", false),
            "Field,Type,Null,Key,Default,Extra:t|text|NO|||;n|uint:3|NO|||;v|float_vector|NO|||;"
            "m|mva64|NO|||");
  EXPECT_EQ(columns_shown("DESCRIBE `shop`.`GOODS` ok"),
            "Field,Type,Null,Key,Default,Extra:ok|tinyint(1)|YES||NULL|");
  EXPECT_EQ(columns_shown("SHOW TABLES FROM `any thing`"), "Tables_in_any thing:goods");
  EXPECT_EQ(columns_shown("SHOW FULL TABLES FROM shop LIKE 'x%'"), "Tables_in_shop,Table_type:");
  EXPECT_EQ(columns_shown("SHOW OTHER THINGS"), "unknown statement: SHOW other");
}

TEST(SchemaStatements, AskOnlyForTablesThatTheyCanBeAbout) {
  const struct {
    const char* where;
    bool goods;
    bool others;
  } cases[] = {{"TABLE_NAME = 'goods'", true, false},
               {"TABLE_SCHEMA = 'shop' AND c.table_name LIKE 'GO%'", true, false},
               {"TABLE_NAME IN ('goods', 'others')", true, true},
               {"TABLE_NAME = 'goods' OR DATA_TYPE = 'int'", true, true},
               {"TABLE_SCHEMA = 'elsewhere'", false, false},
               {"TABLE_SCHEMA = DATABASE()", true, true},
               {"TABLE_NAME = (SELECT 'goods')", true, true}};
  for (const auto& c : cases) {
    const auto select = read_schema_select(
        fmt::format("SELECT 1 FROM information_schema.columns c WHERE {}", c.where));
    ASSERT_TRUE(select) << c.where;
    EXPECT_EQ(may_have_table(**select, 0, kFacts, "goods"), c.goods) << c.where;
    EXPECT_EQ(may_have_table(**select, 0, kFacts, "others"), c.others) << c.where;
  }
}

}  // namespace
}  // namespace karmad
