#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "demo/data/corpus.hpp"
#include "demo/data/text.hpp"
#include "demo/engine/membership.hpp"
#include "tests/demo/shop.hpp"

namespace karmad::demo {
namespace {

std::string rows_of(const Engine& engine, std::string statements) {
  const auto answer = post(engine, "/sql", std::move(statements), "mode=raw");
  EXPECT_EQ(answer.status, 200) << answer.body;
  std::string out;
  for (std::size_t at = 0; (at = answer.body.find("\"data\":[\n", at)) != std::string::npos; ++at) {
    const auto begin = at + 9;
    out += answer.body.substr(begin, answer.body.find("],\n\"total\"", begin) - begin) + "--\n";
  }
  return out;
}

std::string rows(std::string statements) {
  return rows_of(whole_shop(), std::move(statements));
}

TEST(SqlStatements, ExpressionsHaveTheTypesOfTheirOperands) {
  const auto answer = post(whole_shop(), "/sql",
                           "select 1+2*3 a, 7/2 b, bigint(2) c, double(1)/4 d, if(2>1,'y','n') e, "
                           "interval(15,10,20) f, (5-7)%3 g, not 1=2",
                           "mode=raw");
  EXPECT_EQ(answer.body,
            "[{\n\"columns\":[{\"a\":{\"type\":\"long\"}},{\"b\":{\"type\":\"float\"}},"
            "{\"c\":{\"type\":\"long long\"}},{\"d\":{\"type\":\"float\"}},"
            "{\"e\":{\"type\":\"string\"}},{\"f\":{\"type\":\"long\"}},{\"g\":{\"type\":\"long\"}},"
            "{\"not 1=2\":{\"type\":\"long\"}}],\n\"data\":[\n"
            "{\"a\":7,\"b\":3.500000,\"c\":2,\"d\":0.250000,\"e\":\"y\",\"f\":1,\"g\":4294967294,"
            "\"not 1=2\":1}\n],\n\"total\":1,\n\"error\":\"\",\n\"warning\":\"\"\n}]");
}

TEST(SqlStatements, AliasesWorkInWhereAndOrder) {
  EXPECT_EQ(
      rows("select id, price*2 as twice from products where twice>900 order by twice desc, id "
           "asc limit 3"),
      rows("select id, price*2 as twice from products where price>450 order by price desc, "
           "id asc limit 3"));
}

TEST(SqlStatements, GroupsAddUpToTheWhole) {
  const auto count = [](const std::string& statement) {
    std::int64_t sum = 0;
    const auto text = rows(statement);
    for (std::size_t at = 0; (at = text.find("\"n\":", at)) != std::string::npos; ++at)
      sum += std::atol(text.c_str() + at + 4);
    return sum;
  };
  EXPECT_EQ(count("select brand, count(*) n from products group by brand limit 1000"), 4000);
  EXPECT_EQ(count("select meta.s, brand, count(*) n from products group by meta.s, brand limit "
                  "1000"),
            4000);
  EXPECT_EQ(rows("select count(*) c, sum(price) s, max(price) m from products where price<0"),
            "{\"c\":0,\"s\":null,\"m\":null}\n--\n");
}

/// The values of `name` in the rows.
std::vector<std::string> values_in(const std::string& statement, const std::string& name) {
  std::vector<std::string> out;
  const auto text = rows(statement);
  const auto key = fmt::format("\"{}\":", name);
  for (std::size_t at = 0; (at = text.find(key, at)) != std::string::npos; at += key.size()) {
    const auto begin = at + key.size();
    out.push_back(text.substr(begin, text.find_first_of(",}", begin) - begin));
  }
  return out;
}

TEST(SqlStatements, TextsAreGroupsByTheCollationAndDifferentByTheirBytes) {
  std::set<std::string> sellers;
  std::set<std::string> folded;
  std::set<float> weights;
  for (const auto& document : invent_corpus(4000)) {
    sellers.insert(document.seller);
    folded.insert(lower_case(document.seller));
    weights.insert(document.weight);
  }
  EXPECT_LT(folded.size(), sellers.size());
  EXPECT_EQ(rows("select count(distinct seller) n, count(distinct weight) w from products"),
            fmt::format("{{\"n\":{},\"w\":{}}}\n--\n", sellers.size(), weights.size()));
  EXPECT_EQ(values_in("select seller from products group by seller limit 1000", "seller").size(),
            folded.size());
  EXPECT_EQ(values_in("select weight from products group by weight limit 9999 option "
                      "max_matches=9999",
                      "weight")
                .size(),
            weights.size());
}

TEST(SqlStatements, BooleansInJsonAreWrittenAsNumbersAndOrderedAsMissing) {
  const std::string order = " from products order by meta.flag desc, id asc limit 9";
  EXPECT_EQ(values_in("select id" + order, "id"),
            (std::vector<std::string>{"1", "2", "3", "4", "5", "6", "7", "8", "9"}));
  auto flags = values_in("select meta.flag" + order, "meta.flag");
  std::ranges::sort(flags);
  flags.erase(std::ranges::unique(flags).begin(), flags.end());
  EXPECT_EQ(flags, (std::vector<std::string>{R"("0")", R"("1")", "null"}));
  EXPECT_EQ(values_in("select meta.flag from products group by meta.flag", "meta.flag").size(), 3u);
  EXPECT_NE(rows("select meta from products where meta.flag=1 limit 1").find(R"(\"flag\":true)"),
            std::string::npos);
}

TEST(SqlStatements, WhatKnnFindsIsSortedByTheDistanceFirst) {
  const auto ids = [](const std::string& order) {
    return values_in(
        "select id from products where knn(embedding, 9, (0.1,0.2,0.3,0.4)) order by " + order,
        "id");
  };
  EXPECT_EQ(ids("price desc"), ids("knn_dist() asc"));
  auto turned = ids("knn_dist() desc");
  EXPECT_NE(turned, ids("id asc"));
  std::ranges::reverse(turned);
  EXPECT_EQ(turned, ids("id desc"));
  EXPECT_NE(ids("price asc, knn_dist() asc"), ids("knn_dist() asc"));
}

TEST(SqlStatements, WeightsAreTheSameInAnyOrder) {
  const auto score = [](const std::string& order) {
    const auto body = post(whole_shop(), "/sql",
                           "select id from products where match('lamp') and id=" + order, "")
                          .body;
    const auto begin = body.find("\"_score\":");
    return body.substr(begin, body.find(',', begin) - begin);
  };
  const auto first = values_in("select id from products where match('lamp') limit 1", "id").at(0);
  EXPECT_EQ(score(first), score(first + " order by price asc"));
  EXPECT_NE(score(first), "\"_score\":1");
}

TEST(SqlStatements, FacetsAreResultSetsOfTheirOwn) {
  const auto sets = rows(
      "select id from products where brand='lumen' order by id asc limit 1 facet brand facet price "
      "order by facet() asc limit 1 facet brand distinct seller; show meta");
  EXPECT_EQ(std::count(sets.begin(), sets.end(), '-') / 2, 5) << sets;
  EXPECT_NE(sets.find("\"count(distinct seller)\":"), std::string::npos) << sets;
  EXPECT_NE(sets.find("{\"Variable_name\":\"total\",\"Value\":\"1\"}"), std::string::npos) << sets;
}

TEST(SqlStatements, MaxMatchesBoundsWhatCanBePagedTo) {
  EXPECT_EQ(rows("select id from products order by id asc limit 3,5 option max_matches=4"),
            "{\"id\":4}\n--\n");
  EXPECT_EQ(rows("select id from products limit 9,5 option max_matches=4"), "--\n");
}

TEST(SqlStatements, ChangesAreWhatTheyFind) {
  const Engine engine{Index{invent_corpus(20), {}}, {"products"}};
  const auto change = [&](std::string statement) {
    return post(engine, "/sql", std::move(statement), "mode=raw").body;
  };
  EXPECT_EQ(change("insert into products (id,title,price,tags,meta) values "
                   "(900,'a zork',7,(3,4),'{\"n\":3}'), (901,'zork',8,(),'{}')"),
            R"([{"total":2,"error":"","warning":""}])");
  EXPECT_EQ(change("update products set price=9, meta.n=5 where match('zork') and id>900"),
            R"([{"total":1,"error":"","warning":""}])");
  EXPECT_EQ(rows_of(engine,
                    "select id, price, meta from products where match('zork') order by id "
                    "asc"),
            "{\"id\":900,\"price\":7,\"meta\":\"{\\\"n\\\":3}\"},\n"
            "{\"id\":901,\"price\":9,\"meta\":\"{\\\"n\\\":5}\"}\n--\n");
  EXPECT_EQ(change("delete from products where id in (900,901,902)"),
            R"([{"total":2,"error":"","warning":""}])");
  // All rows of an INSERT or none.
  const auto refused =
      post(engine, "/sql", "insert into products (id,title) values (902,'x'),(1,'y')", "mode=raw");
  EXPECT_EQ(refused.status, 500);
  EXPECT_EQ(rows_of(engine, "select id from products where id=902"), "--\n");
}

TEST(SqlStatements, TextsForNumbersAreMistakesInConditions) {
  const Engine engine{Index{invent_corpus(20), {}}, {"products"}};
  const auto change = [&](std::string statement) {
    return post(engine, "/sql", std::move(statement), "mode=raw");
  };
  EXPECT_EQ(change("insert into products (id,title) values ('900','zork'), ('x','other')").status,
            200);
  for (const auto* refused :
       {"update products set price=9 where id='900'", "delete from products where id='900'",
        "select id from products where id='900'",
        "select title from products where 1=1 and id in (7,'8')"}) {
    const auto answer = change(refused);
    EXPECT_EQ(answer.status, 500) << refused;
    EXPECT_TRUE(answer.body.contains("unsupported filter type 'string' on attribute 'id'"))
        << answer.body;
  }
  EXPECT_TRUE(change("select id from products where rating < '3.5'")
                  .body.contains("unsupported filter type 'string' on attribute 'rating'"));
  EXPECT_EQ(change("select id from products where brand = '3.5' and meta.n = '7'").status, 200);
  EXPECT_EQ(rows_of(engine, "select id from products where id=900"), "{\"id\":900}\n--\n");
}

TEST(SqlStatements, WhatTheServerHasNotIsAMistake) {
  const Engine engine{Index{invent_corpus(20), {}}, {"products"}};
  const auto error = [&](std::string statement) {
    const auto answer = post(engine, "/sql", std::move(statement), "mode=raw");
    return answer.status == 200 ? std::string("answered") : answer.body;
  };
  const std::pair<const char*, const char*> cases[] = {
      {"select id from products order by price", "table products: no sort order defined"},
      {"select id from products order by price, rating desc", "invalid sorting order 'rating'"},
      {"select id from products order by price desc, rating", "answered"},
      {"select id from products order by rand()", "answered"},
      {"select brand, id from products group by brand within group order by price",
       "no sort order defined"},
      {"select * from (select id, price from products order by id asc) order by price",
       "no sort order defined"},
      {"select id from products order by id asc facet brand order by brand", "answered"},
      {"insert into products (id,price) values (901,null)", "P01: syntax error"},
      {"insert into products (id,price) values (901,default)", "P01: syntax error"},
      {"insert into products (id,tags) values (901,(1)),(902,'')",
       "row 2, column 2: non-MVA value specified for a MVA column"},
      {"insert into products (id,price,tags) values (901,(5),(1))",
       "row 1, column 2: MVA value specified for a non-MVA column"},
      {"replace into products (id,title) values (901,5)", "row 1, column 2: string expected"},
      {"insert into products (id,tags,title) values (901,(),'')", "answered"},
      {"update products set tags='' where id=901", "attribute 'tags' MVA flag mismatch"},
      {"update products set price=(1,2) where id=901", "attribute 'price' MVA flag mismatch"},
      {"update products set price=null where id=901", "P01: syntax error"},
      {"update products set tags=(3), price=2 where id=901", "answered"}};
  for (const auto& [statement, wanted] : cases)
    EXPECT_TRUE(error(statement).contains(wanted)) << statement << "\n" << error(statement);
  EXPECT_TRUE(
      rows_of(engine, "select id from products order by id asc limit 1 facet price order by price")
          .contains("price"));
}

TEST(SqlStatements, EscapesStandForCharacters) {
  const Engine engine{Index{invent_corpus(20), {}}, {"products"}};
  EXPECT_EQ(post(engine, "/sql",
                 R"(insert into products (id,seller) values (900,'a\nb\rc\td\be\0f\Zg\'h\\i'))",
                 "mode=raw")
                .status,
            200);
  EXPECT_EQ(rows_of(engine, "select seller from products where id=900"),
            R"({"seller":"a\nb\u000dc\u0009d\u0008e fZg'h\\i"})"
            "\n--\n");
}

TEST(SqlStatements, TextTablesAreForPeople) {
  EXPECT_TRUE(post(whole_shop(), "/cli", "select 1 a, 'xyz' b")
                  .body.starts_with("+---+-----+\n| a | b   |\n+---+-----+\n| 1 | xyz |\n"
                                    "+---+-----+\n1 row in set ("));
}

}  // namespace
}  // namespace karmad::demo
