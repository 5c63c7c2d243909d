#include "agent/dialect/fronts/sql/foreign_forms.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include <string>
#include <string_view>
#include <vector>

#include "agent/dialect/kinds/dialects.hpp"
#include "agent/dialect/plan/plan.hpp"

namespace karmad {
namespace {

const std::unique_ptr<Dialect> kSql = make_manticore_sql({});

ClientRequest plain(std::string_view statement) {
  return {"POST", "/sql", "mode=raw", "text/plain", statement};
}

/// The statement as an engine gets it from a table of one shard, without blanks beside blanks and
/// at its end.
std::string for_engine(std::string_view statement) {
  const auto request = plain(statement);
  const auto parsed = kSql->parse(request);
  if (!parsed) return parsed.error().reason;
  std::string buffer;
  const std::vector<std::string> tables{parsed->table};
  std::string text(kSql->write(request, *parsed, tables, buffer).body);
  std::erase(text, '\n');
  text.erase(
      std::unique(text.begin(), text.end(), [](char a, char b) { return a == ' ' && b == a; }),
      text.end());
  return text.substr(0, text.find_last_not_of(' ') + 1);
}

TEST(ForeignForms, TheTablesNameBeforeAColumnIsLeftOut) {
  const struct {
    std::string_view statement, expected;
  } cases[] = {
      {"SELECT two.id, two.title FROM two ORDER BY two.id ASC LIMIT 12",
       "SELECT id, title FROM two ORDER BY id ASC LIMIT 12"},
      {"SELECT `two`.`id`, `two`.`title` FROM `two` WHERE `two`.`brand` = 'two.x' LIMIT 4 OFFSET 4",
       "SELECT `id`, `title` FROM `two` WHERE `brand` = 'two.x' LIMIT 4 OFFSET 4"},
      {"SELECT (1) AS `a` FROM `two` WHERE (`two`.`brand`='I' AND `two`.`id` IN (18, 61)) LIMIT 1",
       "SELECT (1) AS `a` FROM `two` WHERE ( `brand`='I' AND `id` IN (18, 61)) LIMIT 1"},
      {"SELECT TWO.id AS two_id, MAX( Two.price ) FROM two GROUP BY tWo.brand HAVING two.n > 1.5",
       "SELECT id AS two_id, MAX( price ) FROM two GROUP BY brand HAVING n > 1.5"},
      {"SELECT two.* , two . price, `two`.price, two.`price`, `two`.* FROM two",
       "SELECT * , price, price, `price`, * FROM two"},
      {"SELECT two.meta.two.x, meta.two.y, two.two.z, `two`.`two`.w FROM two FACET two.brand",
       "SELECT meta.two.x, meta.two.y, two.z, `two`.w FROM two FACET brand"},
      {"SELECT a.x, b.y, c.z, twofold.a FROM a, b", "SELECT x, y, c.z, twofold.a FROM `a,b`"},
      {"SELECT a.b.id, a.id FROM a.b", "SELECT id, a.id FROM b"},
      {"SELECT `2shop`.id, 2.5 FROM `2shop` WHERE MATCH('@2shop.id')",
       "SELECT id, 2.5 FROM `2shop` WHERE MATCH('@2shop.id')"},
      {"UPDATE `two` SET `two`.`price` = 8 WHERE `two`.`id` = 5001",
       "UPDATE `two` SET `price` = 8 WHERE `id` = 5001"},
      {"DELETE FROM two WHERE two.id IN (5001)", "DELETE FROM two WHERE id IN (5001)"},
      {"INSERT INTO two (id, title) VALUES (1, 'two.x')",
       "INSERT INTO two (id, title) VALUES (1, 'two.x')"},
  };
  for (const auto& [statement, expected] : cases) EXPECT_EQ(for_engine(statement), expected);
}

TEST(ForeignForms, AnAliasOfTheTableIsLeftOutAndItsNameMeansAJsonAttribute) {
  const struct {
    std::string_view statement, expected;
  } cases[] = {
      {"SELECT `id` FROM `two` AS `Product` WHERE `PRODUCT`.`brand` = 'I' ORDER BY Product.id ASC;",
       "SELECT `id` FROM `two` WHERE `brand` = 'I' ORDER BY id ASC"},
      {"SELECT `p`.`id` AS `p_id`, p.price*2 x FROM products `p` WHERE ((p.n=1)) ORDER BY `p_id`",
       "SELECT `id` AS `p_id`, price*2 x FROM products WHERE (( n=1)) ORDER BY `p_id` ASC"},
      {"SELECT meta.color, m.meta.color FROM meta m FACET m.brand AS b BY m.brand",
       "SELECT meta.color, meta.color FROM meta FACET brand AS b BY brand"},
      {"select d.n from products d group by d.n within group order by d.price desc option a=1",
       "select n from products group by n within group order by price desc option a=1"},
      {"SELECT id FROM two AS status", "SELECT id FROM two"},
      {"SELECT id FROM two meta", "SELECT id FROM two"},
      {"SELECT order.id FROM two AS order", "SELECT id FROM two"},
      {"UPDATE products AS p SET p.n = 1, price=2 WHERE p.id = 7",
       "UPDATE products SET n = 1, price=2 WHERE id = 7"},
      {"UPDATE products p SET n = 1", "UPDATE products SET n = 1"},
      {"DELETE FROM products AS p WHERE p.n < 5", "DELETE FROM products WHERE n < 5"},
      {"DELETE FROM products p", "DELETE FROM products"},
  };
  for (const auto& [statement, expected] : cases) EXPECT_EQ(for_engine(statement), expected);
}

TEST(ForeignForms, ACountOfOneOrOfAColumnCountsRows) {
  const struct {
    std::string_view statement, expected;
  } cases[] = {
      {"SELECT COUNT(1) AS `cnt` FROM `two` `P` WHERE ((`P`.`brand` = 'I'))",
       "SELECT COUNT(*) AS `cnt` FROM `two` WHERE (( `brand` = 'I'))"},
      {"SELECT count(p.id), COUNT( `p`.`brand` ) c FROM two p HAVING count(id) > 2",
       "SELECT count( * ), COUNT( * ) c FROM two HAVING count(* ) > 2"},
      {"SELECT COUNT(DISTINCT(`p`.`id`)) AS `cnt` FROM `two` `p`",
       "SELECT COUNT(DISTINCT `id` ) AS `cnt` FROM `two`"},
      {"SELECT COUNT('*'), COUNT(*), COUNT(DISTINCT id), COUNT(meta.x), 'COUNT(1)' FROM two",
       "SELECT COUNT(* ), COUNT(*), COUNT(DISTINCT id), COUNT(meta.x), 'COUNT(1)' FROM two"},
      {"SELECT amount(1), count(1+1) FROM two", "SELECT amount(1), count(1+1) FROM two"},
  };
  for (const auto& [statement, expected] : cases) EXPECT_EQ(for_engine(statement), expected);
}

TEST(ForeignForms, AnOrderByNullIsNone) {
  EXPECT_EQ(for_engine("SELECT brand, COUNT(*) n FROM two GROUP BY brand ORDER BY NULL LIMIT 3"),
            "SELECT brand, COUNT(*) n FROM two GROUP BY brand LIMIT 3");
  EXPECT_EQ(for_engine("select t.id from two t order  by null"), "select id from two");
}

TEST(ForeignForms,
     AKeyOfOrderByWithoutADirectionAscends) {  // as MySQL has it; an engine refuses it
  const struct {
    std::string_view statement, expected;
  } cases[] = {
      {"SELECT id FROM two ORDER BY price LIMIT 3",
       "SELECT id FROM two ORDER BY price ASC LIMIT 3"},
      {"select id from two order by a, b desc, c",
       "select id from two order by a ASC, b desc, c ASC"},
      {"SELECT id FROM two t ORDER BY t.price, `t`.`id` FACET brand ORDER BY COUNT(*)",
       "SELECT id FROM two ORDER BY price ASC, `id` ASC FACET brand ORDER BY COUNT(*)"},
      {"SELECT id FROM two ORDER BY id DESC FACET a, b ORDER BY a, b DESC FACET b ORDER BY b",
       "SELECT id FROM two ORDER BY id DESC FACET a, b ORDER BY a ASC, b DESC FACET b ORDER BY b"},
      {"SELECT n FROM two ORDER BY 2", "SELECT n FROM two ORDER BY 2"},
      {"SELECT n FROM two ORDER BY meta.x, COUNT(*), desc ASC",
       "SELECT n FROM two ORDER BY meta.x ASC, COUNT(*) ASC, desc ASC"},
      {"SELECT n FROM two GROUP BY n WITHIN GROUP ORDER BY price, id DESC ORDER BY n",
       "SELECT n FROM two GROUP BY n WITHIN GROUP ORDER BY price ASC, id DESC ORDER BY n ASC"},
      {"SELECT id FROM two ORDER BY RAND() LIMIT 2", "SELECT id FROM two ORDER BY RAND() LIMIT 2"},
      {"SELECT * FROM (SELECT id FROM two ORDER BY price) ORDER BY id LIMIT 5",
       "SELECT * FROM (SELECT id FROM two ORDER BY price ASC) ORDER BY id ASC LIMIT 5"},
      {"SELECT id FROM two ORDER BY price ASC, id DESC",
       "SELECT id FROM two ORDER BY price ASC, id DESC"},
      {"SELECT id FROM two ORDER BY price dsc, `n` 'x', f(a) 5, b is not null, m['a'].c, desc",
       "SELECT id FROM two ORDER BY price dsc, `n` 'x', f(a) 5, b is not null ASC, m['a'].c ASC, "
       "desc ASC"},
  };
  for (const auto& [statement, expected] : cases) EXPECT_EQ(for_engine(statement), expected);
}

TEST(ForeignForms, ASchemaBeforeATableIsLeftOut) {
  const struct {
    std::string_view statement, expected;
  } cases[] = {
      {"SELECT id FROM shop.two WHERE price > 1.5 LIMIT 3",
       "SELECT id FROM two WHERE price > 1.5 LIMIT 3"},
      {"SELECT `shop`.`two`.`id`, shop.two.price FROM `Shop`.`Two` ORDER BY SHOP.two.id ASC",
       "SELECT `id`, price FROM `Two` ORDER BY id ASC"},
      {"select `shop`.two.id, x from shop.`two`", "select id, x from `two`"},
      {"SELECT p.id FROM shop.two AS p WHERE p.shop.two = 1",
       "SELECT id FROM two WHERE shop.two = 1"},
      {"SELECT a.id FROM shop.one, shop.two", "SELECT a.id FROM `one,two`"},
      {"UPDATE shop.two SET price = 2.5 WHERE id = 7", "UPDATE two SET price = 2.5 WHERE id = 7"},
      {"DELETE FROM `shop`.`two` WHERE id = 7", "DELETE FROM `two` WHERE id = 7"},
      {"INSERT INTO `shop`.`two` (id, title) VALUES (1, 'shop.two')",
       "INSERT INTO `two` (id, title) VALUES (1, 'shop.two')"},
      {"REPLACE INTO shop.two (id) VALUES (1)", "REPLACE INTO two (id) VALUES (1)"},
  };
  for (const auto& [statement, expected] : cases) EXPECT_EQ(for_engine(statement), expected);
  EXPECT_TRUE(for_engine("SELECT id FROM a.b.c").find("`b.c`") != std::string::npos);
  EXPECT_EQ(sql::without_schema("SELECT meta.x FROM two WHERE n > 1.5"), std::nullopt);
}

TEST(ForeignForms, NumbersInQuotesAreNumbersWhereOnlyANumberCanStand) {
  const struct {
    std::string_view statement, expected;
  } cases[] = {
      {"SELECT id FROM two WHERE id = '18' AND n = '7'",
       "SELECT id FROM two WHERE id = 18 AND n = '7'"},
      {"SELECT id FROM two WHERE `id` <> '18' AND id>='-3'",
       "SELECT id FROM two WHERE `id` <> 18 AND id>= -3"},
      {"SELECT p.id FROM two p WHERE p.id IN ('7', '8',9) AND p.sku IN ('7')",
       "SELECT id FROM two WHERE id IN ( 7 , 8 ,9) AND sku IN ('7')"},
      {"SELECT id FROM two WHERE `two`.`id` NOT IN ('7') AND brand = '7'",
       "SELECT id FROM two WHERE `id` NOT IN ( 7 ) AND brand = '7'"},
      {"SELECT id FROM two WHERE meta.id = '7' AND brand IN ('id', '7')",
       "SELECT id FROM two WHERE meta.id = '7' AND brand IN ('id', '7')"},
      {"SELECT id FROM two WHERE id = 'x' AND id = '12345678901234567890'",
       "SELECT id FROM two WHERE id = 'x' AND id = '12345678901234567890'"},
      {"SELECT id FROM two LIMIT '4' OFFSET '40'", "SELECT id FROM two LIMIT 4 OFFSET 40"},
      {"SELECT id FROM two LIMIT '8', '4' OPTION comment='4'",
       "SELECT id FROM two LIMIT 8 , 4 OPTION comment='4'"},
      {"SELECT TRUE AS `_`, if(false, 1, n) f FROM two WHERE ok = TRUE AND 1 <> 1 LIMIT 0",
       "SELECT 1 AS `_`, if(0 , 1, n) f FROM two WHERE ok = TRUE AND 1 <> 1 LIMIT 0"},
      {"UPDATE two SET sku = '5' WHERE id = '7'", "UPDATE two SET sku = '5' WHERE id = 7"},
      {"DELETE FROM two WHERE id IN ('5', '6')", "DELETE FROM two WHERE id IN ( 5 , 6 )"},
  };
  for (const auto& [statement, expected] : cases) EXPECT_EQ(for_engine(statement), expected);
}

TEST(ForeignForms, AColumnWithDefaultInEveryRowIsLeftOut) {
  const struct {
    std::string_view statement, expected;
  } cases[] = {
      {"INSERT INTO two (id, tags, meta, n) VALUES (1, DEFAULT, DEFAULT, -5)",
       "INSERT INTO two (id , n) VALUES (1 , -5)"},
      {"INSERT INTO `two`(`tags`, `id`, `n`) VALUES (DEFAULT, 1, 2), (default, 3, f(4, 5))",
       "INSERT INTO `two`( `id`, `n`) VALUES ( 1, 2), ( 3, f(4, 5))"},
      {"INSERT INTO two (a, b, id) VALUES (DEFAULT, DEFAULT, 3)",
       "INSERT INTO two ( id) VALUES ( 3)"},
      {"REPLACE INTO two (id, a) VALUES (3, DEFAULT)", "REPLACE INTO two (id ) VALUES (3 )"},
      {"INSERT INTO two (id, a, b) VALUES (3, NULL, 'null'), (4, null, NULL)",
       "INSERT INTO two (id , b) VALUES (3 , 'null'), (4 , '' )"},
      {"INSERT INTO two (a, id, b) VALUES (NULL, 3, DEFAULT)",
       "INSERT INTO two ( id ) VALUES ( 3 )"},
      {"INSERT INTO two (a, id, b) VALUES (DEFAULT, , DEFAULT)",
       "INSERT INTO two ( id ) VALUES ( )"},
      {"INSERT INTO two (id, tags, a) VALUES (3, '', ''), (4, '' , 'x')",
       "INSERT INTO two (id , a) VALUES (3 , ''), (4 , 'x')"},
      // In some rows.
      {"INSERT INTO two (id, a) VALUES (3, DEFAULT), (4, 5)",
       "INSERT INTO two (id, a) VALUES (3, '' ), (4, 5)"},
      {"REPLACE INTO two (id, tags, b) VALUES (3, '', null), (4, (5,6), 7), (5, NULL, '')",
       "REPLACE INTO two (id, tags, b) VALUES (3, (), '' ), (4, (5,6), 7), (5, () , '')"},
      // The id, and texts that say something, or nothing would be left: engines refuse it.
      {"INSERT INTO two (`id`, a) VALUES ('', 1)", "INSERT INTO two (`id`, a) VALUES ('', 1)"},
      {"INSERT INTO two (id, a) VALUES (NULL, 2), (4, 5)",
       "INSERT INTO two (id, a) VALUES (NULL, 2), (4, 5)"},
      {"INSERT INTO two (id, a) VALUES (3, ' '), (4, '\\'')",
       "INSERT INTO two (id, a) VALUES (3, ' '), (4, '\\'')"},
      {"INSERT INTO two (a) VALUES ('')", "INSERT INTO two (a) VALUES ('')"},
      {"INSERT INTO two (id, a) VALUES (3, ''), (4)",
       "INSERT INTO two (id, a) VALUES (3, ''), (4)"},
      {"INSERT INTO two (a) VALUES (DEFAULT)", "INSERT INTO two (a) VALUES (DEFAULT)"},
      {"INSERT INTO two (id, a) VALUES (3, 'DEFAULT')",
       "INSERT INTO two (id, a) VALUES (3, 'DEFAULT')"},
      {"INSERT INTO two VALUES (3, DEFAULT)", "INSERT INTO two VALUES (3, DEFAULT)"},
  };
  for (const auto& [statement, expected] : cases) EXPECT_EQ(for_engine(statement), expected);
}

// As clients write values that are bytes.
TEST(ForeignForms, TheCharacterSetOfATextIsLeftOut) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"SELECT id FROM two WHERE brand = _binary'x' AND MATCH(_UTF8 'y')",
       "SELECT id FROM two WHERE brand = 'x' AND MATCH( 'y')"},
      {"SELECT p.id, _utf8mb4\"a\" AS a FROM two p WHERE id IN (_binary'7', 8) ORDER BY p.n",
       "SELECT id, \"a\" AS a FROM two WHERE id IN ( 7 , 8) ORDER BY n ASC"},
      {"SELECT * FROM (SELECT id FROM two WHERE city=_ascii'x' LIMIT 9) ORDER BY id ASC",
       "SELECT * FROM (SELECT id FROM two WHERE city= 'x' LIMIT 9) ORDER BY id ASC"},
      {"INSERT INTO two (id, a, b) VALUES (3, _binary 'it''s', NULL), (4, '_binary', NULL)",
       "INSERT INTO two (id, a ) VALUES (3, 'it''s' ), (4, '_binary' )"},
      {"REPLACE INTO two (id, a) VALUES (3, _utf8mb3'x')",
       "REPLACE INTO two (id, a) VALUES (3, 'x')"},
      {"UPDATE two SET brand = _binary'' WHERE id = 5", "UPDATE two SET brand = '' WHERE id = 5"},
      {"DELETE FROM two WHERE brand = _binary'a'", "DELETE FROM two WHERE brand = 'a'"},
      {"SELECT _binary, id FROM two WHERE a = _latin1'x'",
       "SELECT _binary, id FROM two WHERE a = _latin1'x'"}};
  for (const auto& [statement, expected] : cases) EXPECT_EQ(for_engine(statement), expected);
}

TEST(ForeignForms, OtherStatementsStayTheBytesOfTheClient) {
  for (const std::string_view statement :
       {"SELECT id, meta.color, 1.5 FROM two WHERE meta.n > .5", "SELECT COUNT(*) FROM two",
        "CALL PQ('two', 'two.x')", "SHOW TABLE two STATUS", "SELECT 1, a.b"}) {
    const auto read = sql::read_statement(statement);
    ASSERT_TRUE(read) << statement << ": " << read.error().reason;
    EXPECT_EQ(sql::without_foreign_forms(statement, *read), std::nullopt) << statement;
  }
}

TEST(ForeignForms, AreLeftOutOfPlansToo) {
  const auto request = plain("SELECT `p`.`id` AS `p_id` FROM two p ORDER BY p.price DESC LIMIT 3");
  const auto parsed = kSql->parse(request);
  ASSERT_TRUE(parsed);
  const auto plan = kSql->plan(request, *parsed, ShardLayout(2));
  ASSERT_TRUE(plan) << plan.error().reason;
  std::string buffer;
  const std::vector<std::string> tables{"T"};
  EXPECT_EQ(
      write_planned(*plan, 1, tables, buffer).body,
      "SELECT `id` AS `p_id`, price AS karmad_0 FROM T ORDER BY price DESC, id ASC LIMIT 0,3; "
      "SHOW META");
}

TEST(ForeignForms, OneIdOfAChangeIsFoundBehindTheTablesName) {
  const auto request = plain("DELETE FROM two AS t WHERE t.id = 7");
  const auto parsed = kSql->parse(request);
  ASSERT_TRUE(parsed);
  const auto plan = kSql->plan(request, *parsed, ShardLayout(3, ShardBy::id));
  ASSERT_TRUE(plan) << plan.error().reason;
  EXPECT_EQ(std::ranges::count(plan->asked, true), 1);
}

}  // namespace
}  // namespace karmad
