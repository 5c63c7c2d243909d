// An alias that is also the name of a column hides that column from nothing that is asked of the
// shards.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "tests/agent/dialect/row_replies.hpp"
#include "tests/agent/dialect/select_planning.hpp"

namespace karmad::select_alias_tests {
namespace {

using select_planning::asked;
using select_planning::planned;

/// The names that the first columns get back.
std::string names(std::string_view statement) {
  std::string text;
  for (const auto& [column, name] : planned(statement).plan.rows.names)
    text += fmt::format("{}{}={} ", column.from_right ? "-" : "", column.at, name);
  return text;
}

std::string refusal(std::string_view statement, RowForm form = RowForm::raw) {
  const auto select = sql_reading::plan_text(statement, form);
  if (!select) return fmt::format("{} {}", select.error().status, select.error().reason);
  return "planned";
}

TEST(SelectAlias, AnAggregateCalledLikeWhatItReadsIsSentWithAHiddenAlias) {
  const struct {
    std::string_view statement, asked, names;
  } cases[] = {
      {"select avg(price) price from p",
       "SELECT avg(price) AS karmad_0, SUM(price) AS karmad_1, COUNT(*) AS karmad_2 FROM T LIMIT "
       "0,1; SHOW META",
       "0=price "},
      {"select brand, avg(price) as Price from p group by brand having price>9 order by price desc",
       "SELECT brand, avg(price) AS karmad_0, weight() AS karmad_1, id AS karmad_2, GROUPBY() AS "
       "karmad_3, SUM(price) AS karmad_4, COUNT(*) AS karmad_5 FROM T GROUP BY brand WITHIN GROUP "
       "ORDER BY weight() DESC, id ASC ORDER BY karmad_0 DESC LIMIT 0,10000 OPTION "
       "max_matches=10000; SHOW META",
       "1=price "},
      {"select avg(price) a, sum(rating) price from p group by brand order by price, groupby()",
       "SELECT avg(price) AS a, sum(rating) AS karmad_0, groupby() AS karmad_1, SUM(price) AS "
       "karmad_2, COUNT(*) AS karmad_3 FROM T GROUP BY brand ORDER BY karmad_0 ASC, groupby() ASC "
       "LIMIT 0,1000; SHOW META",
       "1=price "},
      {"select count(distinct brand) brand from p",
       "SELECT count(distinct brand) AS karmad_0 FROM T LIMIT 0,1; SHOW META; SELECT brand, "
       "CRC32(TO_STRING(brand))-CRC32(LOWER(TO_STRING(brand))) AS karmad_1, GROUPBY() AS karmad_2 "
       "FROM T GROUP BY brand, karmad_1 LIMIT 0,100000 OPTION max_matches=100000",
       "0=brand "},
      {"select *, max(price) price from p group by price order by groupby() asc",
       "SELECT *, max(price) AS karmad_0, weight() AS karmad_1, id AS karmad_2, groupby() AS "
       "karmad_3 FROM T GROUP BY price WITHIN GROUP ORDER BY weight() DESC, id ASC ORDER BY "
       "groupby() ASC LIMIT 0,20; SHOW META",
       "-3=price "},
      {"select count(*) c, count(*) stock from p group by brand within group order by stock desc "
       "order by c desc limit 1",
       "SELECT count(*) AS c, count(*) AS karmad_0, GROUPBY() AS karmad_1 FROM T GROUP BY brand "
       "ORDER "
       "BY c DESC LIMIT 0,1000; SHOW META",
       "1=stock "},
      {"select avg(price) p from p order by p",
       "SELECT avg(price) p, SUM(price) AS karmad_0, COUNT(*) AS karmad_1 FROM T ORDER BY p ASC "
       "LIMIT 0,1; SHOW META",
       ""},
  };
  for (const auto& [statement, text, shown] : cases) {
    EXPECT_EQ(asked(statement), text);
    EXPECT_EQ(names(statement), shown) << statement;
  }
  const auto having =
      planned("select brand, avg(price) price from p group by brand having price>9").plan.rows;
  ASSERT_TRUE(having.having);
  EXPECT_EQ(having.having->column, ColumnAt{1});
}

TEST(SelectAlias, TheOrderAroundBracketsMeansTheAggregateToo) {
  for (const auto* statement :
       {"select * from (select town, min(rating) rating from p group by town) order by rating desc",
        "select * from (select town, sum(id) as ID from p group by town) order by id asc limit 3",
        "select * from (select town, max(stock) s, avg(s) `stock` from p group by town order by "
        "stock asc limit 5) order by town asc, stock asc"}) {
    const auto& outer = planned(statement).plan.rows.outer;
    ASSERT_TRUE(outer) << statement;
    const bool last = std::string_view(statement).contains(" s,");
    EXPECT_EQ(outer->order.back().column, ColumnAt{last ? 2U : 1U}) << statement;
  }
}

TEST(SelectAlias, TheClientGetsItsOwnNameBack) {
  const auto plan = planned("select avg(price) price, count(*) from p").plan;
  const std::vector<std::string> columns = {"karmad_0:double", "count(*):long long",
                                            "karmad_1:long long"};
  const auto reply = [&](std::string_view row) {
    return raw_reply({raw_set(columns, {std::string(row)}), meta_set(1)});
  };
  EXPECT_EQ(select_merged(plan, {reply(R"x({"karmad_0":2.00000000,"count(*)":2,"karmad_1":4})x"),
                                 reply(R"x({"karmad_0":8.00000000,"count(*)":1,"karmad_1":8})x")}),
            raw_reply({raw_set({"price:double", "count(*):long long"},
                               {R"x({"price":4.00000000,"count(*)":3})x"})}));
}

TEST(SelectAlias, RefusesAnAliasThatHidesWhatMergingReads) {
  const struct {
    std::string_view statement, beginning;
    RowForm form = RowForm::raw;
  } cases[] = {
      {"select price as id from p", "400 at offset 16: the alias id hides the id"},
      {"select brand, price `id` from p group by brand", "400 at offset 20: the alias id hides"},
      {"select max(id) id from p", "planned"},
      {"select all id from p", "400 at offset 7: search servers have no SELECT all; leave it"},
      {"select TOP 5 id, price from p", "400 at offset 7: search servers have no SELECT TOP;"},
      {"select Straight_Join * from p", "400 at offset 7: search servers have no SELECT Str"},
      {"select all(tags)>5 as a from p", "planned"},
      {"select top t, top as u from p", "planned"},
      {"select title from p facet price as id by brand", "400 at offset 35: the alias id hides"},
      {"select id from p facet price as brand distinct brand",
       "400 at offset 32: the alias brand hides"},
      {"select id from p facet brand as brand distinct brand", "planned"},
      {"select id, rating as town from p facet brand distinct town",
       "400 at offset 21: the alias town hides"},
      {"select id, town as town from p facet brand distinct town", "planned"},
      {"select avg(price), rating as price from p group by brand",
       "400 at offset 29: the alias price hides an attribute that is read elsewhere; choose"},
      {"select count(distinct price) d, a*2 price from p", "400 at offset 36: the alias price"},
      {"select meta.n, title as meta from p", "400 at offset 24: the alias meta", RowForm::hits},
      {"select meta.n, title as meta from p", "planned"},
      {"select rating as price, avg(price) from p group by brand", "planned"},
      {"select id as id, price as price from p order by price", "planned"},
      {"select brand b, count(*) brand from p group by b", "planned"},
      {"select count(*) brand, brand b from p group by b", "501 at offset 23: an expression with"},
  };
  for (const auto& [statement, beginning, form] : cases)
    EXPECT_TRUE(refusal(statement, form).starts_with(beginning))
        << statement << ": " << refusal(statement, form);
}

TEST(SelectAlias, HavingNeedsGroups) {
  EXPECT_TRUE(refusal("select id from p having id>5 limit 2")
                  .starts_with("400 at offset 24: HAVING needs GROUP BY"));
  EXPECT_EQ(refusal("select count(*) c from p having c>5"), "planned");
}

}  // namespace
}  // namespace karmad::select_alias_tests
