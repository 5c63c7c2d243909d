// What the shards of a table are asked for a SELECT, and how their rows are to be merged.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "tests/agent/dialect/select_planning.hpp"

namespace karmad::select_plan_tests {
namespace {

using select_planning::asked;
using select_planning::planned;

std::string place(const ColumnAt& column) {
  return fmt::format("{}{}", column.from_right ? "-" : "", column.at);
}

std::string keys(const std::vector<RowKey>& order) {
  std::string text;
  for (const auto& key : order)
    text += fmt::format("{}{}{}{}{}", text.empty() ? "" : ",", place(key.column),
                        key.descending ? " desc" : "", key.as_text ? " text" : "",
                        key.attribute ? " " + place(*key.attribute) : "");
  return text;
}

std::string folds(const RowPlan& rows) {
  constexpr const char* names[] = {"keep", "sum", "min", "max", "avg", "concat", "distinct"};
  std::string text;
  for (const auto& column : rows.folded) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ",", place(column.column),
                        names[static_cast<std::size_t>(column.fold)]);
    if (column.sum) text += fmt::format(" {}/{}", place(*column.sum), place(column.weight));
    if (column.fold == Fold::distinct) text += fmt::format(" of {}", column.pairs);
  }
  return text;
}

struct Case {
  std::string_view statement;
  std::string_view asked;
  std::string_view order;
  RowForm form = RowForm::raw;
};

TEST(SelectPlan, ASelectInBracketsIsAskedWithWhatTheOrderAroundItNeeds) {
  const struct {
    std::string_view statement, asked, order, outer;
    std::size_t offset, limit, inner_limit;
  } cases[] = {
      {"SELECT * FROM (SELECT id, price FROM p ORDER BY price ASC LIMIT 100) ORDER BY id DESC "
       "LIMIT 3",
       "SELECT id, price FROM T ORDER BY price ASC, id ASC LIMIT 0,100", "1,0", "0 desc", 0, 3,
       100},
      {"select * from (select id from p where match('a)') limit 4,50) order by n desc, b asc limit "
       "2,7;",
       "SELECT id, weight() AS karmad_0, n AS karmad_1, b AS karmad_2 FROM T WHERE match('a)') "
       "LIMIT "
       "0,50",
       "1 desc,0", "2 desc,3", 4, 7, 50},
      {"SELECT * FROM (SELECT b, SUM(a) s FROM p GROUP BY b LIMIT 9) AS x ORDER BY s ASC",
       "SELECT b, SUM(a) s, weight() AS karmad_0, id AS karmad_1, GROUPBY() AS karmad_2 FROM T "
       "GROUP "
       "BY b WITHIN GROUP ORDER BY weight() DESC, id ASC ORDER BY weight() DESC, id ASC LIMIT "
       "0,1000",
       "2 desc,3,4", "1", 0, 9, 9},
  };
  for (const auto& c : cases) {
    const auto select = planned(c.statement);
    EXPECT_EQ(asked(c.statement), std::string(c.asked) + "; SHOW META");
    EXPECT_EQ(keys(select.plan.rows.order), c.order) << c.statement;
    ASSERT_TRUE(select.plan.rows.outer) << c.statement;
    EXPECT_EQ(keys(select.plan.rows.outer->order), c.outer) << c.statement;
    EXPECT_EQ(select.plan.rows.outer->offset, c.offset) << c.statement;
    EXPECT_EQ(select.plan.rows.outer->limit, c.limit) << c.statement;
    EXPECT_EQ(select.plan.rows.limit, c.inner_limit) << c.statement;
    EXPECT_EQ(select.plan.rows.offset, 0U) << c.statement;
  }
}

TEST(SelectPlan, AFacetOfSeveralKeysByFacetIsInTheOrderOfItsKeys) {
  const auto statement = [](std::string_view facet) {
    return asked(fmt::format("SELECT id FROM p ORDER BY id ASC LIMIT 0 {}", facet));
  };
  EXPECT_TRUE(statement("FACET a, b ORDER BY FACET()")
                  .contains(" FACET a, b ORDER BY a ASC, b ASC LIMIT 0,20;"))
      << statement("FACET a, b ORDER BY FACET()");
  EXPECT_TRUE(statement("FACET a, b AS c ORDER BY FACET() DESC LIMIT 5")
                  .contains(" ORDER BY a DESC, b DESC LIMIT 0,5;"))
      << statement("FACET a, b AS c ORDER BY FACET() DESC LIMIT 5");
  EXPECT_TRUE(statement("FACET a BY n ORDER BY FACET() DESC")
                  .contains(" BY n ORDER BY FACET() DESC LIMIT 0,20;"))
      << statement("FACET a BY n ORDER BY FACET() DESC");
}

TEST(SelectPlan, TheOnlyKeyOfAFacetWithoutADirectionDescends) {
  const auto facet = [](std::string_view order) {
    const auto text = asked(fmt::format("SELECT id FROM p FACET a, b ORDER BY {}", order));
    return text.substr(text.find(" ORDER BY") + 9);
  };
  EXPECT_TRUE(facet("b").starts_with(" b DESC LIMIT")) << facet("b");
  EXPECT_TRUE(facet("COUNT(*)").starts_with(" COUNT(*) DESC LIMIT")) << facet("COUNT(*)");
  EXPECT_TRUE(facet("b asc").starts_with(" b ASC LIMIT")) << facet("b asc");
  EXPECT_TRUE(facet("b, a DESC").starts_with(" b ASC, a DESC LIMIT")) << facet("b, a DESC");
}

TEST(SelectPlan, AFacetHasTheNameOfItsExpressionInLowerCaseWhateverItsAlias) {
  const auto name = [](std::string_view facet) {
    return planned(fmt::format("SELECT id FROM p FACET {}", facet)).plan.facets[0].facet_name;
  };
  EXPECT_EQ(name("Brand"), "brand");
  EXPECT_EQ(name("brand AS Town"), "brand");
  EXPECT_EQ(name("`Brand` b"), "brand");
  EXPECT_EQ(name("`n`*2 AS twice"), "`n`*2");
  EXPECT_EQ(name("brand AS b, city AS c BY city"), "brand");
  EXPECT_EQ(name("YEAR( Ts ) AS y"), "year( ts )");
  EXPECT_EQ(name("IN(Brand,'A b') AS x"), "in(brand,'A b')");
  EXPECT_EQ(name("Meta.Color AS m"), "meta.Color");
  EXPECT_EQ(name("Meta['Color'] AS m"), "meta['Color']");
  EXPECT_EQ(name("meta.`Color` AS m"), "meta.`Color`");
}

TEST(SelectPlan, AFacetOfAnAliasHasTheNameOfTheValueInsideJsonThatItStandsFor) {
  const auto name = [](std::string_view list, std::string_view facet) {
    const auto text = fmt::format("SELECT {} FROM p FACET {}", list, facet);
    return planned(text).plan.facets[0].facet_name;
  };
  EXPECT_EQ(name("id, meta.Size.W AS w", "w"), "meta.Size.W");
  EXPECT_EQ(name("id, meta.Size.W AS w", "w AS wide, brand"), "meta.Size.W");
  EXPECT_EQ(name("id, price*2 AS p2", "p2"), "p2");
  EXPECT_EQ(name("id, brand AS b", "B"), "b");
}

TEST(SelectPlan, BehindAnOffsetWithoutRowsShardsCountUpToIt) {
  EXPECT_TRUE(asked("SELECT id FROM p LIMIT 5,0").contains(" LIMIT 5,0;"));
  EXPECT_TRUE(asked("SELECT id FROM p ORDER BY n DESC LIMIT 0 OFFSET 7").contains(" LIMIT 7,0;"));
  EXPECT_TRUE(asked("SELECT id FROM p LIMIT 5,1").contains(" LIMIT 0,6;"));
}

TEST(SelectPlan, AsksDocumentsWithAllThatTheirOrderNeeds) {
  const Case cases[] = {
      {"SELECT id, price FROM p WHERE MATCH('a;b') ORDER BY price ASC, id DESC LIMIT 40, 20;",
       "SELECT id, price FROM T WHERE MATCH('a;b') ORDER BY price ASC, id DESC LIMIT 0,60",
       "1,0 desc"},
      {"select * from p", "SELECT *, weight() AS karmad_0, id AS karmad_1 FROM T LIMIT 0,20",
       "-1 desc,-0"},
      {"select id from p limit 10 offset 5", "SELECT id, weight() AS karmad_0 FROM T LIMIT 0,15",
       "1 desc,0"},
      {"select id, *, a from p order by A desc, meta.x asc, geodist(b,c,1,2)",
       "SELECT id, *, a, meta.x AS karmad_0, meta AS karmad_1, geodist(b,c,1,2) AS karmad_2 FROM T "
       "ORDER BY A DESC, meta.x ASC, karmad_2 ASC, id ASC LIMIT 0,20",
       "-3 desc,-2 text -1,-0,0"},
      {"select id, j['k'] as k from p order by k desc, least(tags)",
       "SELECT id, j['k'] as k, j AS karmad_0, least(tags) AS karmad_1 FROM T ORDER BY k DESC, "
       "karmad_1 ASC, id ASC LIMIT 0,20",
       "1 desc text 2,3,0"},
      {"select id from p order by a, b, c, d, e",
       "SELECT id, a AS karmad_0, b AS karmad_1, c AS karmad_2, d AS karmad_3, e AS karmad_4 FROM "
       "T ORDER BY a ASC, b ASC, c ASC, d ASC, e ASC LIMIT 0,20",
       "1,2,3,4,5,0"},
      {"select id from p where knn(v, 5, (1,2)) and a>1",
       "SELECT id, knn_dist() AS karmad_0 FROM T WHERE knn(v, 5, (1,2)) and a>1 LIMIT 0,20", "1,0"},
      {"select id x from p order by x, a", "SELECT id x FROM T ORDER BY x ASC LIMIT 0,20", "0"},
      {"select id, a from p order by a limit 1500,20 option max_matches=1600, ranker=bm25, "
       "retry_count=2",
       "SELECT id, a FROM T ORDER BY a ASC, id ASC LIMIT 0,1520 OPTION "
       "max_matches=1600,ranker=bm25",
       "1,0"},
      {"select id, price from p order by price",
       "SELECT id, price FROM T ORDER BY price ASC, id "
       "ASC LIMIT 0,20",
       "1,0", RowForm::hits},
  };
  for (const auto& [statement, text, order, form] : cases) {
    EXPECT_EQ(asked(statement, form), std::string(text) + "; SHOW META");
    const auto rows = planned(statement, form).plan.rows;
    EXPECT_EQ(keys(rows.order), order) << statement;
    EXPECT_FALSE(rows.grouped);
    EXPECT_TRUE(rows.id);
    EXPECT_FALSE(rows.score) << statement;
  }
}

TEST(SelectPlan, CutsThePageAtMaxMatchesLikeTheServer) {
  const auto rows = planned("select id from p limit 995, 20").plan.rows;
  EXPECT_EQ(rows.offset, 995u);
  EXPECT_EQ(rows.limit, 5u);
  EXPECT_EQ(planned("select id from p limit 5 option max_matches=3").plan.rows.limit, 3u);
  EXPECT_EQ(planned("select id from p limit 999, 20").plan.rows.limit, 1u);
}

TEST(SelectPlan, AnAggregateMayBeCalledId) {
  EXPECT_EQ(asked("select max(id) AS id, brand from p group by brand order by id desc limit 3"),
            "SELECT max(id) AS karmad_0, brand, weight() AS karmad_1, id AS karmad_2, GROUPBY() AS "
            "karmad_3 FROM T GROUP BY brand WITHIN GROUP ORDER BY weight() DESC, id ASC ORDER BY "
            "karmad_0 DESC LIMIT 0,1000; SHOW META");
  const auto names = planned("select max(id) AS id from p").plan.rows.names;
  ASSERT_EQ(names.size(), 1u);
  EXPECT_EQ(names[0].second, "id");
}

TEST(SelectPlan, GroupsAreOrderedByACountOfDifferentValuesWithoutAnAlias) {
  const auto text = asked(
      "select brand, count(distinct n) from p group by brand order by count(distinct n) desc");
  EXPECT_NE(text.find(" ORDER BY count(distinct n) DESC"), std::string::npos) << text;
  const auto rows =
      planned("select brand, count(distinct n) from p group by brand order by count(distinct n)")
          .plan.rows;
  EXPECT_EQ(rows.order.front().column.at, 1u);
}

TEST(SelectPlan, AveragesOfJsonAreMergedWithoutSums) {
  EXPECT_EQ(asked("select avg(meta.n) a from p group by brand order by brand asc").find("SUM("),
            std::string::npos);
  EXPECT_NE(asked("select avg(n) a from p group by brand order by brand asc").find("SUM(n)"),
            std::string::npos);
}

// SS-104: one server sorts so, too.
TEST(SelectPlan, WhatKnnFindsIsSortedByTheDistanceFirst) {
  const Case cases[] = {
      {"select id from p where knn(v, 5, (1,2)) order by a desc",
       "SELECT id, a AS karmad_0, knn_dist() AS karmad_1 FROM T WHERE knn(v, 5, (1,2)) ORDER BY "
       "knn_dist() ASC, a DESC, id ASC LIMIT 0,20",
       "2,1 desc,0"},
      {"select id, knn_dist() d from p where knn(v, 5, (1,2)) order by d desc, id limit 2",
       "SELECT id, knn_dist() d FROM T WHERE knn(v, 5, (1,2)) ORDER BY knn_dist() ASC, d DESC, id "
       "ASC LIMIT 0,2",
       "1,1 desc,0"},
      {"select id from p where knn(v, 5, (1,2)) order by a, b, c, d",
       "SELECT id, a AS karmad_0, b AS karmad_1, c AS karmad_2, d AS karmad_3, knn_dist() AS "
       "karmad_4 FROM T WHERE knn(v, 5, (1,2)) ORDER BY knn_dist() ASC, a ASC, b ASC, c ASC, d ASC "
       "LIMIT 0,20",
       "5,1,2,3,4,0"},
      {"select id from p where knn(v, 30000, (1,2)) order by a limit 7",
       "SELECT id, a AS karmad_0, knn_dist() AS karmad_1 FROM T WHERE knn(v, 30000, (1,2)) ORDER "
       "BY knn_dist() ASC, a ASC, id ASC LIMIT 0,7",
       "2,1,0"},
  };
  for (const auto& [statement, text, order, form] : cases) {
    EXPECT_EQ(asked(statement, form), std::string(text) + "; SHOW META");
    const auto rows = planned(statement, form).plan.rows;
    EXPECT_EQ(keys(rows.order), order) << statement;
    EXPECT_FALSE(rows.distance) << statement;
  }
}

TEST(SelectPlan, AnotherOrderThatNamesTheDistanceIsThatOfTheNearestOfAllShards) {
  const std::string_view statement =
      "select id from p where knn(v, 5, (1,2)) order by a, knn_dist() limit 2";
  EXPECT_EQ(asked(statement),
            "SELECT id, a AS karmad_0, knn_dist() AS karmad_1 FROM T WHERE knn(v, 5, (1,2)) ORDER "
            "BY a ASC, knn_dist() ASC, id ASC LIMIT 0,5; SHOW META");
  const auto rows = planned(statement).plan.rows;
  EXPECT_EQ(rows.distance, ColumnAt{2});
  EXPECT_EQ(rows.nearest, 5u);
  EXPECT_TRUE(planned("select id from p where knn(v, 5, (1,2)) order by knn_dist() desc")
                  .plan.rows.distance);
}

// SS-104: the score of one server is the same whatever the order is.
TEST(SelectPlan, AHitHasAScoreWhereItMatchesWords) {
  const auto scored = [](std::string_view statement, RowForm form = RowForm::hits) {
    return planned(statement, form).plan.rows.score.has_value();
  };
  EXPECT_TRUE(scored("select id from p where match('a')"));
  EXPECT_TRUE(scored("select id from p where match('a') order by a, weight() desc"));
  EXPECT_TRUE(scored("select id, weight() w from p where match('a') order by a"));
  EXPECT_TRUE(scored("select id from p where match('a') order by a"));
  EXPECT_TRUE(scored("select * from p where a>1 and MATCH ('a') and b<2 order by j.k limit 1"));
  EXPECT_FALSE(scored("select id from p where match('a') order by a", RowForm::raw));
  EXPECT_FALSE(scored("select id from p where a='match(' order by a"));
  EXPECT_FALSE(scored("select id from p where a>1"));
}

struct GroupCase {
  std::string_view statement;
  std::string_view asked;
  std::string_view order;
  std::string_view folds;
  std::size_t may_lack = 0;  // RowPlan::asked
};

TEST(SelectPlan, AsksGroupsByTheirKeyWithAllThatFoldingNeeds) {
  const GroupCase cases[] = {
      {"select count(*) from p", "SELECT count(*) FROM T LIMIT 0,1", "", "0 sum"},
      {"select min(a), max(a) m, max(a,b) from p limit 5",
       "SELECT min(a), max(a) m, max(a,b), weight() AS karmad_0, id AS karmad_1 FROM T LIMIT 0,1",
       "", "0 min,1 max"},
      {"select brand, count(*) c from p group by brand order by c desc limit 130",
       "SELECT brand, count(*) c, weight() AS karmad_0, id AS karmad_1, GROUPBY() AS karmad_2 FROM "
       "T "
       "GROUP BY brand WITHIN GROUP ORDER BY weight() DESC, id ASC ORDER BY c DESC LIMIT 0,1000",
       "1 desc,4", "1 sum", 1000},
      {"select count(*) c from p group by brand order by c desc limit 30 option max_matches=40",
       "SELECT count(*) c, GROUPBY() AS karmad_0 FROM T GROUP BY brand ORDER BY c DESC LIMIT "
       "0,1000 "
       "OPTION max_matches=1000",
       "0 desc,1", "0 sum", 1000},
      {"select groupby() g, sum(a) from p group by tags order by g desc limit 10,5",
       "SELECT groupby() g, sum(a) FROM T GROUP BY tags ORDER BY g DESC LIMIT 0,15", "0 desc",
       "1 sum"},
      {"select avg(a), group_concat(id) from p group by brand order by @groupby",
       "SELECT avg(a), group_concat(id), groupby() AS karmad_0, SUM(a) AS karmad_1, COUNT(*) AS "
       "karmad_2 FROM T GROUP BY brand ORDER BY groupby() ASC LIMIT 0,20",
       "2", "0 avg 3/4,1 concat,3 sum,4 sum"},
      {"select brand, title from p group by brand order by brand",
       "SELECT brand, title, weight() AS karmad_0, id AS karmad_1, GROUPBY() AS karmad_2 FROM T "
       "GROUP BY brand WITHIN GROUP ORDER BY weight() DESC, id ASC ORDER BY brand ASC LIMIT 0,20",
       "0,4", ""},
      {"select *, count(*) c, sum(a) from p group 3 by b within group order by a desc order by "
       "sum(a) desc limit 6",
       "SELECT *, count(*) c, sum(a), a AS karmad_0, id AS karmad_1, GROUPBY() AS karmad_3 FROM",
       "", "", 3000},
      {"select year(ts) y, count(*) from p group by y, brand order by brand, y",
       "SELECT year(ts) y, count(*), weight() AS karmad_0, id AS karmad_1, brand AS karmad_2, "
       "GROUPBY() AS karmad_3 FROM T GROUP BY y, brand WITHIN GROUP ORDER BY weight() DESC, id ASC "
       "ORDER BY brand ASC, y ASC LIMIT 0,20",
       "4,0,5", "1 sum"},
      {"select count(*) from p group by year(ts)",
       "SELECT count(*), weight() AS karmad_0, id AS karmad_1, year(ts) AS karmad_2, GROUPBY() AS "
       "karmad_3 FROM T GROUP BY karmad_2 WITHIN GROUP ORDER BY weight() DESC, id ASC ORDER BY "
       "weight() DESC, id ASC LIMIT 0,1000",
       "1 desc,2,4", "0 sum", 1000},
  };
  for (const auto& [statement, text, order, fold, may_lack] : cases) {
    const auto rows = planned(statement).plan.rows;
    EXPECT_TRUE(rows.grouped);
    EXPECT_EQ(rows.asked, may_lack) << statement;
    if (order.empty() && fold.empty()) continue;  // GROUP n BY, below
    EXPECT_EQ(asked(statement), std::string(text) + "; SHOW META");
    EXPECT_EQ(keys(rows.order), order) << statement;
    EXPECT_EQ(folds(rows), fold) << statement;
  }
}

// The shards find mistakes in ORDER BY, and show the columns of their first row by it.
TEST(SelectPlan, AsksForTheOneRowWithoutGroupByInTheGivenOrder) {
  EXPECT_EQ(asked("select count(*) from p order by nosuch asc"),
            "SELECT count(*) FROM T ORDER BY nosuch ASC LIMIT 0,1; SHOW META");
  EXPECT_EQ(asked("select sum(a) s, count(*) from p order by s desc, a+b asc"),
            "SELECT sum(a) s, count(*), a+b AS karmad_0 FROM T ORDER BY s DESC, karmad_0 ASC LIMIT "
            "0,1; SHOW META");
  const std::string_view best = "select title, count(*) c from p order by c desc, price desc";
  EXPECT_EQ(asked(best),
            "SELECT title, count(*) c, price AS karmad_0, id AS karmad_1 FROM T ORDER BY c DESC, "
            "price DESC LIMIT 0,1; SHOW META");
  const auto rows = planned(best).plan.rows;
  EXPECT_EQ(keys(rows.within), "2 desc,3");
  EXPECT_EQ(folds(rows), "1 sum");
}

TEST(SelectPlan, GroupNByKeepsTheBestRowsInTheOrderWithinTheGroup) {
  const std::string_view statement =
      "select *, count(*) c from p group 3 by b within group order by a desc having c > 5 order by "
      "c desc limit 6";
  EXPECT_EQ(
      asked(statement),
      "SELECT *, count(*) c, a AS karmad_0, id AS karmad_1, GROUPBY() AS karmad_2 FROM T "
      "GROUP 3 BY b WITHIN GROUP ORDER BY a DESC, id ASC ORDER BY c DESC LIMIT 0,30000 OPTION "
      "max_matches=30000; SHOW META");
  const auto rows = planned(statement).plan.rows;
  EXPECT_EQ(rows.per_group, 3u);
  EXPECT_EQ(keys(rows.within), "-2 desc,-1");
  EXPECT_EQ(keys(rows.order), "-3 desc,-0");
  EXPECT_EQ(folds(rows), "-3 sum");
  EXPECT_EQ(rows.hidden, 3u);
  ASSERT_TRUE(rows.having);
  EXPECT_EQ(place(rows.having->column), "-3");
}

TEST(SelectPlan, StringsInsideJsonAreGroupsByTheirCase) {
  const auto group = [](std::string_view statement) { return planned(statement).plan.rows.exact; };
  const auto facet = [](std::string_view statement) {
    return planned(fmt::format("select id, m.list[0] as first from p facet {}", statement))
        .plan.facets[0]
        .exact;
  };
  const auto pairs = [](std::string_view statement) { return planned(statement).plan.pairs[0]; };
  using Exact = std::vector<bool>;
  EXPECT_EQ(group("select m.c, count(*) from p group by m.c"), Exact{true});
  EXPECT_EQ(group("select m['c'] x, count(*) from p group by x"), Exact{true});
  EXPECT_EQ(group("select brand, count(*) from p group by brand"), Exact{false});
  EXPECT_EQ(facet("m.c"), Exact{true});
  EXPECT_EQ(facet("m.`C` as x"), Exact{true});
  EXPECT_EQ(facet("brand as m"), Exact{false});
  EXPECT_EQ(facet("town, m.size.w as w"), (Exact{false, true}));
  EXPECT_EQ(facet("title by first, town"), (Exact{true, false}));
  const auto* const grouped =
      "select town, m.size.w w, count(distinct u) from p group by town, w, m.c";
  EXPECT_EQ(group(grouped), (Exact{false, true, true}));
  EXPECT_EQ(pairs(grouped).exact, (Exact{false, true, true}));
  EXPECT_EQ(pairs("select id, m.c k from p facet k, town distinct u").exact, (Exact{true, false}));
  EXPECT_EQ(pairs("select id from p facet m.c k distinct u").exact, Exact{true});
}

TEST(SelectPlan, ValuesInsideJsonComeWithTheirAttributeForHits) {
  EXPECT_EQ(asked("select id, m.c from p order by id asc", RowForm::hits),
            "SELECT id, m.c, m AS karmad_0 FROM T ORDER BY id ASC LIMIT 0,20; SHOW META");
  EXPECT_EQ(asked("select id, m.c from p order by id asc").find("karmad_0"), std::string::npos);
  EXPECT_NE(asked("select id from p order by id asc facet m.c limit 3", RowForm::hits)
                .find(" FACET m.c, m AS karmad_0 BY m.c ORDER BY COUNT(*) DESC"),
            std::string::npos);
  const auto alias = asked("select m.list[1] as second from p facet second", RowForm::hits);
  EXPECT_NE(alias.find(" FACET second, m AS karmad_3 BY second ORDER BY"), alias.npos) << alias;
}

TEST(SelectPlan, AValueInsideJsonMayBeListedTwiceForHits) {
  const auto json = planned("select m.n, m.n, m.n x from p", RowForm::hits).plan.rows.json;
  ASSERT_EQ(json.size(), 3U);
  for (std::size_t i = 0; i < json.size(); ++i) EXPECT_EQ(json[i].column.at, i);
}

TEST(SelectPlan, DistinctValuesAreCountedInPairsOfKeyAndValue) {
  const std::string_view statement =
      "select a*2 a2, brand, count(distinct u) d from p where a2 > 3 group by brand, meta.x order "
      "by d desc option ranker=none";
  EXPECT_EQ(asked(statement),
            "SELECT a*2 a2, brand, count(distinct u) d, weight() AS karmad_0, id AS karmad_1, "
            "GROUPBY() AS karmad_2, meta.x AS karmad_3 FROM T WHERE a2 > 3 GROUP BY brand, meta.x "
            "WITHIN GROUP ORDER BY "
            "weight() DESC, id ASC ORDER BY d DESC LIMIT 0,1000 OPTION ranker=none; SHOW META; "
            "SELECT brand, meta.x, u, CRC32(TO_STRING(u))-CRC32(LOWER(TO_STRING(u))) AS karmad_4, "
            "GROUPBY() AS karmad_5, a*2 AS a2 FROM T WHERE a2 > 3 GROUP BY brand, meta.x, u, "
            "karmad_4 LIMIT 0,100000 OPTION max_matches=100000,ranker=none");
  const auto plan = planned(statement).plan;
  EXPECT_EQ(folds(plan.rows), "2 distinct of 0");
  EXPECT_EQ(keys(plan.rows.order), "2 desc,5");
  EXPECT_EQ(plan.rows.group, (std::vector<ColumnAt>{{1}, {6}}));
  EXPECT_EQ(plan.rows.group_number, ColumnAt{5});
  ASSERT_EQ(plan.pairs.size(), 1u);
  EXPECT_EQ(plan.pairs[0].keys, 2u);
  EXPECT_EQ(plan.pairs[0].asked, 100'000u);
  EXPECT_EQ(plan.pairs[0].number, 4u);
}

// Texts inside JSON are groups by their bytes.
TEST(SelectPlan, DistinctValuesOfAnAliasAreThoseOfItsExpression) {
  EXPECT_NE(asked("select concat(a,b) as x, count(distinct x) from p group by c")
                .find("SELECT c, concat(a,b) AS x, CRC32(TO_STRING(concat(a,b)))-"
                      "CRC32(LOWER(TO_STRING(concat(a,b)))) AS karmad_"),
            std::string::npos);
  for (const auto* const statement : {"select count(distinct m.c) from p",
                                      "select m.c as x, count(distinct x) from p group by a"}) {
    EXPECT_EQ(asked(statement).find("CRC32"), std::string::npos) << statement;
    EXPECT_FALSE(planned(statement).plan.pairs[0].number) << statement;
  }
}

TEST(SelectPlan, GroupsOfValuesInsideJsonMayBeEqualInTheOrderOfTheirKeys) {
  const auto plan = planned(
                        "select m.c, a from p group by m.c, a order by m.c, a limit 5 facet m.c "
                        "order by m.c limit 5 facet a order by a limit 5")
                        .plan;
  EXPECT_EQ(plan.rows.asked, 1000u);
  EXPECT_EQ(plan.facets[0].asked, 1000u);
  EXPECT_EQ(plan.facets[1].asked, 0u);
}

TEST(SelectPlan, HavingBecomesAConditionOnTheMergedGroups) {
  using Is = RowCondition::Is;
  struct {
    std::string_view having;
    Is is;
    bool negated;
    std::vector<std::string> values;
  } const cases[] = {
      {"count(*)>95", Is::greater, false, {"95"}},
      {"brand != 'it\\'s'", Is::unequal, false, {"it's"}},
      {"brand <> 'x'", Is::unequal, false, {"x"}},
      {"avg(price) between -1 and 2.5", Is::between, false, {"-1", "2.5"}},
      {"groupby() not in (1, 2)", Is::in, true, {"1", "2"}},
      {"count(*) <= 4", Is::at_most, false, {"4"}},
  };
  for (const auto& [having, is, negated, values] : cases) {
    const auto select =
        planned(fmt::format("select brand from p group by brand having {} order by brand", having));
    ASSERT_TRUE(select.plan.rows.having) << having;
    EXPECT_EQ(select.plan.rows.having->is, is) << having;
    EXPECT_EQ(select.plan.rows.having->negated, negated) << having;
    EXPECT_EQ(select.plan.rows.having->values, values) << having;
    EXPECT_EQ(select.statements.find("HAVING"), std::string::npos);
    EXPECT_NE(select.statements.find("max_matches=10000"), std::string::npos);
  }
}

TEST(SelectPlan, FacetsHaveAnOrderAndALimitOfTheirOwn) {
  const std::string_view statement =
      "select id from p limit 1 facet brand order by count(*) desc limit 2 facet price order by "
      "price limit 5, 5 facet name by brand_id order by facet() facet meta.c as m, d distinct u";
  EXPECT_EQ(
      asked(statement),
      "SELECT id, weight() AS karmad_0 FROM T LIMIT 0,1 FACET brand ORDER BY count(*) DESC "
      "LIMIT 0,1000 FACET price ORDER BY price DESC LIMIT 0,10 FACET name, brand_id AS karmad_1, "
      "weight() AS karmad_2, id AS karmad_3 BY brand_id ORDER BY facet() ASC LIMIT 0,20 FACET "
      "meta.c as m, d DISTINCT u ORDER BY "
      "COUNT(*) DESC LIMIT 0,1000; SHOW META; SELECT meta.c AS m, d, u, CRC32(TO_STRING(u))-"
      "CRC32(LOWER(TO_STRING(u))) AS karmad_4, GROUPBY() AS karmad_5 FROM T GROUP BY m, d, u, "
      "karmad_4 LIMIT 0,100000 OPTION max_matches=100000");
  const auto facets = planned(statement).plan.facets;
  ASSERT_EQ(facets.size(), 4u);
  EXPECT_EQ(keys(facets[0].order), "1 desc,0");
  EXPECT_EQ(facets[0].asked, 1000u);
  EXPECT_EQ(keys(facets[1].order), "0 desc");
  EXPECT_EQ(facets[1].asked, 0u);
  EXPECT_EQ(facets[1].offset, 5u);
  EXPECT_EQ(keys(facets[2].order), "1");
  EXPECT_EQ(facets[2].hidden, 3u);
  EXPECT_EQ(keys(facets[2].within), "2 desc,3");
  EXPECT_EQ(facets[2].behind, 1u);
  EXPECT_EQ(folds(facets[2]), "4 sum");
  EXPECT_EQ(keys(facets[3].order), "3 desc,0 text,1");
  EXPECT_EQ(folds(facets[3]), "2 distinct of 0,3 sum");
}

TEST(SelectPlan, NothingAClientWritesNamesAnotherTableOrAHiddenColumn) {
  for (const auto* const statement : {
           "select id from p; select id from q",
           "select id from p where a='x' -- '; select id from q",
           "select id from p where a=\"x'\" or b='; select id from q'",
           "select id from p where a='x\\\n'",
           "select id from p # x",
           "select id from p /*! , q */",
           "select id from p /* * */ where a=1",
           "select `a;b` from p",
           "select karmad_0 from p",
           "select id as KARMAD_1 from p",
           "select id `karmad_2` from p",
           "select id from p where karmad_0 > 1",
           "select id from p order by karmad_0",
           "select id from p facet karmad_0",
           "select id from p where a='x",
           "select id\x01 from p",
       })
    EXPECT_FALSE(sql_reading::plan_text(statement)) << statement;
  // What is quoted is only passed on.
  EXPECT_EQ(asked("select id from `p` where match('\"a; b\" -- from q') order by id"),
            "SELECT id FROM T WHERE match('\"a; b\" -- from q') ORDER BY id ASC LIMIT 0,20; "
            "SHOW META");
  EXPECT_EQ(asked("select id from karmad_table order by id"),
            "SELECT id FROM T ORDER BY id ASC LIMIT 0,20; SHOW META");
}

TEST(SelectPlan, PutsAMirrorsTablesIntoEachPlace) {
  std::string text;
  const std::vector<std::string> tables{"a", "b c"};
  const auto select = planned("select count(distinct x) from p");
  append_edited(text, select.statements, select.names, tables);
  EXPECT_EQ(text,
            "SELECT count(distinct x) FROM a,`b c` LIMIT 0,1; SHOW META; SELECT x, "
            "CRC32(TO_STRING(x))-CRC32(LOWER(TO_STRING(x))) AS karmad_0, GROUPBY() AS karmad_1 "
            "FROM a,`b c` GROUP BY x, karmad_0 LIMIT 0,100000 OPTION max_matches=100000");
}

}  // namespace
}  // namespace karmad::select_plan_tests
