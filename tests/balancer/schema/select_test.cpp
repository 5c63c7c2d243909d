// SELECTs from tables of values, and what SHOW becomes.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "agent/dialect/fronts/sql/foreign_forms.hpp"
#include "agent/dialect/request/sql_statement.hpp"
#include "balancer/schema/schema.hpp"

namespace karmad {
namespace {

SchemaValue text(std::string_view value) {
  return SchemaValue::of_text(value);
}
SchemaValue number(std::int64_t value) {
  return SchemaValue::of_number(value);
}

const SchemaTable kFruits{.schema = "information_schema",
                          .name = "FRUITS",
                          .columns = {{"name"}, {"color"}, {"price", true}},
                          .rows = {{text("Apple"), text("red"), number(10)},
                                   {text("pear"), text("green"), number(9)},
                                   {text("plum"), SchemaValue{}, number(100)}}};
const SchemaTable kColors{.schema = "information_schema",
                          .name = "COLORS",
                          .columns = {{"color"}, {"code", true}},
                          .rows = {{text("RED"), number(1)}, {text("blue"), number(2)}}};

const SchemaFacts kFacts{.schema = "shop",
                         .user = "ann",
                         .host = "home",
                         .connection = 7,
                         .version = "8.0",
                         .variable = [](auto name) -> std::optional<std::string> {
                           if (name == "@@x") return "5";
                           return std::nullopt;
                         }};

/// The columns, then the rows: `a,b:1|2;3|NULL`. Or the reason of an error.
std::string shown(const OrError<SchemaTable>& table) {
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
  return shown(rows_of(statement, {kFruits, kColors}, kFacts));
}

/// The status of an error; 200: there is none.
int status_of(std::string_view statement) {
  const auto rows = rows_of(statement, {kFruits, kColors}, kFacts);
  return rows ? 200 : rows.error().status;
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
      {"SELECT GROUP_CONCAT(DISTINCT color ORDER BY color SEPARATOR ',') g FROM fruits",
       "g:red,green"},
      {"SELECT GROUP_CONCAT(DISTINCT color ORDER BY color DESC SEPARATOR ' / ') g FROM fruits",
       "g:red / green"},
      {"SELECT GROUP_CONCAT(DISTINCT LEFT(name, 1) SEPARATOR '') a, GROUP_CONCAT(DISTINCT x) b, "
       "GROUP_CONCAT(DISTINCT NULL SEPARATOR '+') c FROM (SELECT name, 'a' x FROM fruits UNION ALL "
       "SELECT 'Peach', 'A' UNION ALL SELECT 'kiwi', 'b,c') y",
       "a,b,c:Apk|a,b,c|NULL"},
      {"SELECT color, GROUP_CONCAT(DISTINCT LENGTH(name) SEPARATOR '-') g FROM fruits GROUP BY "
       "color",
       "color,g:NULL|4;green|4;red|5"},
      {"SELECT 1 = '1' a, '1' = 1 b, 1 = '2' c, 5 < '10' d, '-3' = -3 e, 1.5 = '1.50' f, 0 = 'abc' "
       "g, 2 != '2' h, 1 <=> '1' i, '10' >= 9 j, '1' = '1.0' k",
       "a,b,c,d,e,f,g,h,i,j,k:1|1|0|1|1|1|1|0|1|1|0"},
      {"SELECT name, 1 = '1' FROM fruits WHERE name = 'plum' = 1", "name,1 = '1':plum|1"},
      {"SELECT LEFT('\u00c4pfel', 2) a, RIGHT('Gr\u00fcn', 2) b, LOCATE('n', 'Gr\u00fcn') c, "
       "RIGHT('ab', "
       "5) d, LEFT('ab', 0) e",
       "a,b,c,d,e:\u00c4p|\u00fcn|4|ab|"},
      {"SELECT name, CASE color WHEN 'RED' THEN 'warm' ELSE 'cold' END color FROM fruits HAVING "
       "color "
       "= 'warm' OR name LIKE 'pl%' ORDER BY price DESC LIMIT 5",
       "name,color:plum|cold;Apple|warm"},
      {"SELECT COUNT(*) c FROM fruits HAVING c > 5", "c:"},
      {"SELECT COUNT(*) c FROM fruits HAVING COUNT(*) > 2;", "c:3"},
      {"SELECT name AS 'the name', price \"p\", 'x' FROM fruits WHERE name='Pear'",
       "the name,p,x:pear|9|x"},
      {"SELECT f.name AS `f.name`, f.price, `f`.`color` FROM fruits f LIMIT 1",
       "f.name,price,color:Apple|10|red"},
      {"SELECT USER(), CURRENT_USER(), CURRENT_USER, DATABASE(), schema()",
       "USER(),CURRENT_USER(),CURRENT_USER,DATABASE(),schema():ann@home|ann@home|ann@home|shop|"
       "shop"},
      {"SELECT LOWER('ABC') = 'ABC', @@x = '5', 1 || 0, 1 && 0, !1, 2 <=> NULL, 3 != 4",
       "LOWER('ABC') = 'ABC',@@x = '5',1 || 0,1 && 0,!1,2 <=> NULL,3 != 4:1|1|1|0|0|0|1"},
      {"SELECT 'b' t UNION DISTINCT (SELECT 'c') UNION (SELECT 'a') UNION SELECT 'B'", "t:b;c;a"},
      {"SELECT 'b' UNION SELECT name FROM fruits WHERE price > 9 ORDER BY 1 DESC LIMIT 2;",
       "b:plum;b"},
      {"SELECT COUNT(*) n FROM fruits GROUP BY color UNION SELECT 5 UNION SELECT 1", "n:1;5"},
      {"SELECT f.name FROM fruits f WHERE f.name IN (SELECT 'plum' UNION SELECT 'pear')",
       "name:pear;plum"},
      {"SELECT SQL_NO_CACHE name FROM fruits STRAIGHT_JOIN colors WHERE code = 2 AND price = 9 FOR "
       "UPDATE",
       "name:pear"},
      {"SELECT CONCAT_WS('-', name, color, NULL) FROM fruits WHERE ISNULL(color)",
       "CONCAT_WS('-', name, color, NULL):plum"},
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
      {"SELECT NULL = NULL a, NULL <=> NULL b, NULL AND 0 c, NULL OR 1 d", "a,b,c,d:NULL|1|0|1"},
      {"SELECT 'a\\tb\\nc\\d' t", "t:a\tb\ncd"},
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
      {"SELECT NOSUCH(1)", "the function NOSUCH is not known here"},
      {"SELECT LEFT('a')",
       "wrong number of arguments to function left() in a SELECT that karmad answers itself"},
      {"SELECT name FROM fruits WHERE COUNT(*) > 1",
       "misuse of aggregate function COUNT() in a SELECT that karmad answers itself"},
      {"SELECT 1 UNION SELECT 1, 2", "the SELECTs of a UNION have different numbers of columns"},
      {"SELECT name FROM fruits WHERE AND",
       "syntax error near 'AND' in a SELECT that karmad answers itself"},
      {"SELECT name FROM fruits WHERE",
       "syntax error: the statement has no end in a SELECT that karmad answers itself"},
  };
  for (const auto& c : cases) EXPECT_EQ(answer(c.statement), c.reason) << c.statement;
  for (const auto* statement : {"",
                                "SELECT",
                                "SELECT 1 AS",
                                "SELECT 1,",
                                "SELECT (1",
                                "SELECT 1)",
                                "SELECT 1 FROM",
                                "SELECT name FROM fruits WHERE",
                                "SELECT name FROM fruits ORDER",
                                "SELECT 'x",
                                "SELECT name FROM fruits LIMIT x",
                                "SELECT CASE 1 END FROM",
                                "SELECT 1 IN",
                                "SELECT f(",
                                "SELECT name FROM fruits LEFT colors",
                                "SELECT 1 # c",
                                "SELECT 1 XOR 1",
                                "SELECT ?",
                                "SELECT name FROM fruits f JOIN colors USING color",
                                "SELECT 1; SELECT 2",
                                "SELECT :x"})
    EXPECT_EQ(status_of(statement), 400) << statement;
}

// The tables and functions that SQLite has besides those of the schema.
TEST(SchemaSelects, ReachNothingElseOfTheDatabase) {
  const struct {
    const char* statement;
    int status;
  } cases[] = {
      {"SELECT name FROM sqlite_master", 404},
      {"SELECT name FROM information_schema.sqlite_schema", 404},
      {"SELECT 1 FROM pragma_database_list", 400},
      {"SELECT value FROM json_each('[1]')", 400},
      {"SELECT load_extension('x')", 400},
      {"SELECT randomblob(1000000000)", 400},
      {"SELECT zeroblob(1000000000)", 400},
      {"SELECT printf('%1000000000d', 1)", 400},
      {"SELECT sqlite_version()", 400},
      {"SELECT row_number() OVER () FROM fruits", 400},
      {"SELECT n FROM (WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT n "
       "FROM r) x",
       400},
      {"SELECT name FROM fruits WHERE name GLOB 'a*'", 400},
      {"PRAGMA database_list", 400},
      {"ATTACH 'x' AS y", 400},
      {"DELETE FROM fruits", 400},
      {"CREATE TABLE x (y)", 400},
  };
  for (const auto& c : cases) EXPECT_EQ(status_of(c.statement), c.status) << c.statement;
  EXPECT_FALSE(answer("SELECT 1 FROM nosuch x JOIN y USING (z)").contains("sqlite"));
}

TEST(SchemaSelects, HaveBounds) {
  for (const std::string_view part : {"(", "NOT ", "-", "IF(", "CASE WHEN ", "(SELECT "}) {
    std::string deep = "SELECT ";
    for (int i = 0; i < 5000; ++i) deep += part;
    EXPECT_EQ(status_of(deep), 400) << part;
  }
  std::string sources = "SELECT 1 FROM fruits";
  for (int i = 0; i < 15; ++i) sources += fmt::format(", fruits f{}", i);
  EXPECT_TRUE(answer(sources).contains("too many rows"));
  EXPECT_TRUE(answer("SELECT COUNT(*)" + sources.substr(8)).contains("too many rows"));
  for (int i = 0; i < 64; ++i) sources += fmt::format(", fruits g{}", i);
  EXPECT_EQ(status_of(sources), 400);
  std::string wide = "SELECT 1";
  for (int i = 0; i < 900; ++i) wide += " OR 1";
  EXPECT_EQ(status_of(wide), 200);
  for (int i = 0; i < 900; ++i) wide += " OR 1";
  EXPECT_EQ(status_of(wide), 400);
  std::string unions = "SELECT 1";
  for (int i = 0; i < 80; ++i) unions += " UNION ALL SELECT 1";
  EXPECT_EQ(status_of(unions), 400);
  // Long texts, many times.
  std::string costly = "SELECT COUNT(*) FROM fruits";
  std::string names = "fruits.name";
  for (int i = 0; i < 7; ++i) {
    costly += fmt::format(", fruits f{}", i);
    names += fmt::format(", f{}.name", i);
  }
  const std::string text(1000, 'a');
  EXPECT_TRUE(answer(costly + " WHERE CONCAT(" + names + ", '" + text + "') LIKE '%" +
                     text.substr(0, 250) + "b'")
                  .contains("too many rows"));
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
  for (int round = 0; round < 10'000; ++round) {
    std::string statement = "SELECT name FROM fruits WHERE ";
    if (random() % 2 == 0) statement = "SELECT ";
    for (auto words = random() % 14; words > 0; --words)
      statement += kWords[random() % std::size(kWords)];
    const auto rows = rows_of(statement, {kFruits, kColors}, kFacts);
    EXPECT_TRUE(rows || !rows.error().reason.empty()) << statement;
    carried_out += rows ? 1 : 0;
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
    EXPECT_EQ(sql::kind_of_statement(statement), sql::StatementKind::schema) << statement;
  EXPECT_EQ(sql::kind_of_statement("show local variables like 'sql%'"), sql::StatementKind::schema);
  for (const auto* statement :
       {"SHOW TABLES", "SHOW TABLES LIKE 'a'", "SHOW STATUS LIKE 'x'", "DESC t",
        "SHOW TABLE t STATUS", "SHOW INDEX t STATUS", "SHOW TABLE status STATUS",
        "SHOW CREATE TABLE t", "EXPLAIN SELECT 1", "SHOW VARIABLES", "SHOW SESSION VARIABLES",
        "SELECT 1", "SELECT a FROM t WHERE MATCH('information_schema.tables')",
        "SELECT a FROM dual_band", "SELECT information_schema.a FROM t", "SELECT a FROM mysql"})
    EXPECT_NE(sql::kind_of_statement(statement), sql::StatementKind::schema) << statement;
  const std::string long_list(sql::kLongestSchemaStatement, ' ');
  EXPECT_EQ(sql::kind_of_statement("SELECT a FROM information_schema.tables" + long_list),
            sql::StatementKind::select);
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
  const auto read = read_schema_statement(statement, facts);
  if (!read) return read.error().reason;
  return shown(rows_of(read->text, tables_named(read->text, contents, facts), facts));
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
  EXPECT_EQ(columns_shown("SHOW OTHER THINGS"), "unknown statement: SHOW OTHER");
  EXPECT_EQ(columns_shown("SHOW session WARNINGS"), "unknown statement: SHOW session WARNINGS");
}

TEST(SchemaStatements, ThereAreNoWarningsToCountWithoutAConnection) {
  const auto count = [](const SchemaFacts& facts) {
    const auto read = read_schema_statement("SHOW COUNT( * ) WARNINGS", facts);
    return read ? shown(rows_of(read->text, {}, facts)) : read.error().reason;
  };
  EXPECT_EQ(count({}), "@@session.warning_count:0");
  EXPECT_EQ(count({.variable = [](auto) { return "3"; }}), "@@session.warning_count:3");
}

TEST(SchemaStatements, AskOnlyForTablesThatTheyCanBeAbout) {
  const struct {
    const char* from;
    std::vector<std::string> tables;
  } cases[] = {
      {"columns c WHERE TABLE_NAME = 'goods'", {"goods"}},
      {"columns c WHERE TABLE_SCHEMA = 'SHOP' AND c.table_name LIKE 'GO%'", {"goods"}},
      {"columns c WHERE TABLE_NAME IN ('goods', 'others')", {"goods", "others"}},
      {"columns c WHERE TABLE_NAME = 'goods' OR DATA_TYPE = 'int'", {"goods", "others"}},
      {"columns c WHERE TABLE_NAME = 'none'", {}},
      {"columns c WHERE TABLE_SCHEMA = 'elsewhere'", {}},
      {"columns c WHERE TABLE_SCHEMA LIKE 'else%'", {}},
      {"columns c WHERE TABLE_SCHEMA = DATABASE()", {"goods", "others"}},
      {"columns c WHERE TABLE_NAME = (SELECT 'goods')", {"goods"}},
      {"columns c WHERE NOT TABLE_NAME = 'goods'", {"goods", "others"}},
      {"tables t JOIN information_schema.columns c USING (TABLE_NAME) WHERE t.table_name = "
       "'others'",
       {"others"}},
      {"tables t LEFT JOIN information_schema.columns c ON c.table_name = t.table_name",
       {"goods", "others"}},
      {"(SELECT TABLE_NAME n FROM information_schema.columns) x WHERE n = 'others'", {"others"}},
  };
  const SchemaContents contents{.tables = {"goods", "others"}};
  for (const auto& c : cases) {
    const auto from =
        c.from[0] == '(' ? std::string(c.from) : fmt::format("information_schema.{}", c.from);
    const auto select = "SELECT 1 FROM " + from;
    auto rows = rows_of(select, tables_named(select, contents, kFacts), kFacts);
    ASSERT_TRUE(rows) << rows.error().reason;
    std::ranges::sort(rows->unknown);
    EXPECT_EQ(rows->unknown, c.tables) << c.from;
  }
}

TEST(SchemaStatements, ListTheConnectionsThatTheyGet) {
  const std::string statement =
      "SELECT '" + std::string(40, 'a') + "\u00e4" + std::string(80, 'b') + "'";
  const SchemaContents contents{
      .processes = {{.connection = 9,
                     .user = "ann",
                     .host = "127.0.0.1:40001",
                     .database = "shop",
                     .command = "Query",
                     .lasts = 2900ms,
                     .state = "executing",
                     .statement = statement},
                    {.connection = 12, .user = "a@b", .host = "localhost", .command = "Sleep"}}};
  const auto answer_to = [&](std::string_view show) {
    const auto read = read_schema_statement(show, kFacts);
    if (!read) return read.error().reason;
    return shown(rows_of(read->text, tables_named(read->text, contents, kFacts), kFacts));
  };
  const std::string columns = "Id,User,Host,db,Command,Time,State,Info:";
  const std::string second = ";12|a@b|localhost||Sleep|0||NULL";
  EXPECT_EQ(answer_to("SHOW PROCESSLIST"), columns +
                                               "9|ann|127.0.0.1:40001|shop|Query|2|executing|" +
                                               statement.substr(0, 101) + second);
  EXPECT_EQ(answer_to("SHOW FULL PROCESSLIST"),
            columns + "9|ann|127.0.0.1:40001|shop|Query|2|executing|" + statement + second);
  EXPECT_EQ(answer_to("SHOW PROCESSLIST WHERE Command <> 'Sleep' AND Time > 2"), columns);
  EXPECT_EQ(answer_to("SELECT id, LENGTH(p.info) l FROM information_schema.PROCESSLIST p JOIN "
                      "performance_schema.processlist q USING (id) WHERE p.user = 'ann'"),
            fmt::format("id,l:9|{}", statement.size()));
}

}  // namespace
}  // namespace karmad
