#include <fmt/format.h>
#include <gtest/gtest.h>

#include "demo/sql/functions.hpp"
#include "tests/demo/shop.hpp"

namespace karmad::demo {
namespace {

HttpAnswer sql(std::string statement) {
  return post(whole_shop(), "/sql", std::move(statement));
}
HttpAnswer raw(std::string statement) {
  return post(whole_shop(), "/sql", std::move(statement), "mode=raw");
}

TEST(SqlFunctions, HaveTheBitsOfTheirList) {
  Expression list{.kind = Expression::Kind::column, .type = CellType::multi};
  for (const auto* name : {"least", "greatest"}) {
    list.column.type = Type::multi64;
    EXPECT_EQ(function_type(name, {&list, 1}), CellType::bigint) << name;
    list.column.type = Type::multi;
    EXPECT_EQ(function_type(name, {&list, 1}), CellType::whole) << name;
  }
}

TEST(Sql, RawRowsHaveThePeersLayout) {
  const auto& first = whole_shop().index().documents()[0];
  EXPECT_EQ(
      raw("select id, price, tags from products order by id asc limit 1;").body,
      fmt::format("[{{\n\"columns\":[{{\"id\":{{\"type\":\"long long\"}}}},"
                  "{{\"price\":{{\"type\":\"long\"}}}},{{\"tags\":{{\"type\":\"multi\"}}}}],\n"
                  "\"data\":[\n{{\"id\":1,\"price\":{},\"tags\":\"{}\"}}\n],\n\"total\":1,\n"
                  "\"error\":\"\",\n\"warning\":\"\"\n}}]",
                  first.price, fmt::join(first.tags, ",")));
}

TEST(Sql, PlainAnswersAreHitsWithTheColumnsInOrder) {
  const auto hits =
      hits_of(sql("SELECT brand, id, price FROM products ORDER BY price ASC, "
                  "id DESC LIMIT 3"));
  ASSERT_EQ(hits.size(), 3U);
  EXPECT_TRUE(hits[0].source.starts_with(R"({"brand":)")) << hits[0].source;
  EXPECT_EQ(ids_of(sql("select id from products order by price asc, id desc limit 3")),
            ids_of(ask(whole_shop(),
                       R"({"table":"products","sort":["price",{"id":"desc"}],"limit":3})")));
}

TEST(Sql, WhereMeansTheSameAsTheJsonQuery) {
  const auto total = total_of(
      ask(whole_shop(),
          R"({"table":"products","query":{"bool":{"must":[{"match":{"*":{"query":"oak lamp",)"
          R"("operator":"and"}}},{"range":{"price":{"gt":50,"lte":200}}}],"must_not":)"
          R"([{"equals":{"brand":"Aurora"}}]}}})"));
  EXPECT_GT(total, 0U);
  EXPECT_EQ(raw("select count(*) from products where match('oak lamp') and price > 50 and "
                "price<=200 and brand!='aurora'")
                    .body.find(fmt::format("{{\"count(*)\":{}}}", total)) != std::string::npos,
            true);
}

TEST(Sql, CountsAndPages) {
  EXPECT_NE(sql("select count(*) from products").body.find(R"j("_source":{"count(*)":4000})j"),
            std::string::npos);
  EXPECT_EQ(ids_of(sql("select id from products order by id asc limit 3, 2")),
            (std::vector<std::uint64_t>{4, 5}));
  EXPECT_EQ(ids_of(sql("select id from products order by id asc limit 2 offset 3")),
            (std::vector<std::uint64_t>{4, 5}));
  EXPECT_EQ(ids_of(sql("select * from products where id in (3,5) option max_matches=1")),
            std::vector<std::uint64_t>{3});
  EXPECT_EQ(ids_of(sql("select id from products where id between 8 and 9")),
            (std::vector<std::uint64_t>{8, 9}));
}

TEST(Sql, WeightIsTheScore) {
  const auto hits = hits_of(sql("select id, weight() from products where match('lamp') limit 1"));
  EXPECT_EQ(hits.at(0).source, fmt::format(R"j({{"weight()":{}}})j", hits[0].score));
}

TEST(Sql, ShowsTablesAndColumnsOnlyRaw) {
  EXPECT_NE(raw("show tables").body.find(R"({"Table":"products","Type":"rt"})"), std::string::npos);
  EXPECT_NE(raw("desc products").body.find(R"({"Field":"tags","Type":"mva","Properties":""})"),
            std::string::npos);
  EXPECT_EQ(sql("show tables").status, 501);
}

TEST(Sql, TakesTheStatementFromBodyFormOrQuery) {
  const auto& shop = whole_shop();
  const auto expected = raw("select id from products limit 1").body;
  EXPECT_EQ(post(shop, "/sql", "mode=raw&query=select%20id%20from+products%20limit%201").body,
            expected);
  EXPECT_EQ(get(shop, "/sql", "mode=raw&query=select%20id+from%20products+limit%201").body,
            expected);
  EXPECT_EQ(post(shop, "/cli_json", "select id from products limit 1").body, expected);
  EXPECT_EQ(get(shop, "/cli_json", "select%20id%20from%20products%20limit%201").body, expected);
}

TEST(Sql, RefusesWhatItDoesNotUnderstand) {
  struct Case {
    std::string_view statement;
    int plain;
    std::string_view words;
  };
  for (const auto& [statement, plain, words] : {
           Case{"", 400, "query missing"},
           Case{"selec id from products", 400, "P01: syntax error, unexpected 'selec'"},
           Case{"select from products", 400, "syntax error"},
           Case{"select id from products where", 400, "unexpected $end"},
           Case{"select id from products limit", 400, "unexpected $end"},
           Case{"select id from products limit 1 nonsense", 400, "unexpected 'nonsense'"},
           Case{"select id from products where price ! 3", 400, "syntax error"},
           Case{"select (((((", 400, "syntax error"},
           Case{"select 'a", 400, "syntax error"},
           Case{"select id as \xC3\xBC from products", 400,
                "unexpected '\xC3\xBC' near '\xC3\xBC from"},
           Case{"select * from nope", 500, "unknown local table(s) 'nope' in search request"},
           Case{"select x from products", 500, "unknown column: x"},
           Case{"select id from products where x=1", 500, "unknown column: x"},
           Case{"select id from products where match('\"')", 500, "P08: syntax error"},
       }) {
    EXPECT_EQ(sql(std::string(statement)).status, plain) << statement;
    EXPECT_NE(sql(std::string(statement)).body.find(words), std::string::npos)
        << sql(std::string(statement)).body;
    EXPECT_EQ(raw(std::string(statement)).status, statement.empty() ? 400 : 500) << statement;
  }
}

}  // namespace
}  // namespace karmad::demo
