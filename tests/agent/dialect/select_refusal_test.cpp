// Which SELECT statements are refused over shards, and where the reason is.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "tests/agent/dialect/sql_reading.hpp"

namespace karmad::select_refusal_tests {
namespace {

std::string refusal(std::string_view statement) {
  const auto select = sql_reading::plan_text(statement);
  if (!select) return fmt::format("{} {}", select.error().status, select.error().reason);
  return "planned";
}

TEST(SelectRefusal, RefusesWhatCannotBeMergedWithItsOffset) {
  const struct {
    std::string_view statement;
    std::string_view beginning;
  } cases[] = {
      {"select sum(a)/count(*) from p", "501 at offset 7: an aggregate within an expression"},
      {"select 1+@count from p group by a", "501 at offset 9: an aggregate within an expression"},
      {"select count(*) c, c*2 from p", "501 at offset 19: an expression with the result"},
      {"select a, sum(b) s from p group by a order by s/2", "501 at offset 46: an expression"},
      {"select percentiles(a) from p", "501 at offset 7: percentiles"},
      {"select b, PERCENTILE_RANKS(a,{values='1,2'}) x from p group by b",
       "501 at offset 10: PERCENTILE_RANKS"},
      {"select median_absolute_deviation(a) from p", "501 at offset 7: median_absolute_deviation"},
      {"select b, group_concat(a order by a desc limit 2) from p group by b",
       "501 at offset 25: GROUP_CONCAT with ORDER BY or SEPARATOR"},
      {"select group_concat(a separator ';') from p", "501 at offset 22: GROUP_CONCAT with"},
      {"select * from (select * from p)", "400 at offset 31: behind a SELECT in brackets"},
      {"select * from (select * from p) where a=1 order by a asc",
       "400 at offset 31: behind a SELECT in brackets"},
      {"select * from (select * from p) order by a asc option cutoff=1",
       "400 at offset 31: behind a SELECT in brackets"},
      {"select * from (select id from p facet a) order by id asc", "400 at offset 14: a SELECT in"},
      {"select * from (select 1) order by id asc", "400 at offset 14: the SELECT in brackets"},
      {"select * from (select * from (select * from p) order by a asc) order by a asc",
       "400 at offset 29: a SELECT within a SELECT"},
      {"select * from (select id from p where) order by id asc", "400 at offset"},
      {"select * from (select id from p) order by 2 asc",
       "500 P01: syntax error, unexpected integer"},
      {"select a from (select a from p) order by a asc", "400 at offset 14: a SELECT within"},
      {"select * from (select a from p order by a asc", "400 at offset 14: a SELECT within"},
      {"select id from p where a in (select 1)", "400 at offset 29: a SELECT within"},
      {"select * from p q r",
       "400 expected WHERE, GROUP BY, ORDER BY or another clause behind FROM at offset 18"},
      {"select * from p, q r",
       "400 expected WHERE, GROUP BY, ORDER BY or another clause behind FROM at offset 19"},
      {"select * from `p`.r",
       "400 expected WHERE, GROUP BY, ORDER BY or another clause behind FROM at offset 17"},
      {"select * from p as 5",
       "400 expected WHERE, GROUP BY, ORDER BY or another clause behind FROM at offset 19"},
      {"select * from p, where a=1",
       "400 expected WHERE, GROUP BY, ORDER BY or another clause behind FROM at offset 23"},
      {"select * from p left join q on p.a=q.a", "400 at offset 21: JOIN"},
      {"select join from p", "501 at offset 7: JOIN"},
      {"select id from p option scroll='x'", "400 the scroll token is not base64"},
      {"select id from p option scroll=2", "400 at offset 24: scroll must be 1"},
      {"select a, count(*) from p group by a option scroll=1", "400 groups, facets and KNN()"},
      {"select id from p order by m.c asc option scroll=1", "400 at offset 26: a scroll cannot"},
      {"select id from p facet a order by avg(b)", "501 at offset 34: a facet ordered by avg(b) c"},
      {"select id, n from p order by 2 asc limit 2",
       "500 P01: syntax error, unexpected integer near '2 asc limit 2'"},
      {"select n from p group by n, 12 ;", "500 P01: syntax error, unexpected integer near '12'"},
      {"select id from p order by a.b[0].c asc, f(x y) m limit 2",
       "500 P01: syntax error, unexpected identifier near 'm limit 2'"},
      {"select id from p order by n asc id desc",
       "500 P01: syntax error, unexpected identifier near 'id desc'"},
      {"select n from p group by n `m` order by n asc",
       "500 P01: syntax error, unexpected identifier near '`m` order by n asc'"},
      {"select n from p group by n within group order by n 'x' asc",
       "500 P01: syntax error, unexpected string near ''x' asc'"},
      {"select n, count(*) c from p group by n having c > 5 6",
       "500 P01: syntax error, unexpected integer near '6'"},
      {"select n from p facet n order by n dsc",
       "500 P01: syntax error, unexpected identifier near 'dsc'"},
      {"select * from (select n from p) order by n dsc limit 1",
       "500 P01: syntax error, unexpected identifier near 'dsc limit 1'"},
      {"select id from p limit 1000,1", "500 offset out of bounds (offset=1000, max_matches=1000)"},
      {"select id from p limit 0 offset 20 option max_matches=20",
       "500 offset out of bounds (offset=20, max_matches=20)"},
  };
  for (const auto& [statement, beginning] : cases)
    EXPECT_TRUE(refusal(statement).starts_with(beginning))
        << statement << ": " << refusal(statement);
}

TEST(SelectRefusal, RefusesWhatItDoesNotUnderstandWithItsOffset) {
  const struct {
    std::string_view statement;
    std::string_view beginning;
  } cases[] = {
      {"select id", "400 at offset 9: expected FROM"},
      {"select from p", "400 at offset 0: a clause is empty"},
      {"select id, from p", "400 at offset 10: the list has an empty item"},
      {"select *, * from p", "400 at offset 10: * is given twice"},
      {"select id from ``", "400 FROM names no table"},
      {"select id from 'p'", "400 FROM names no table"},
      {"select id from p:9306:q", "400 expected WHERE, GROUP BY, ORDER BY"},
      {"select id from p q r", "400 expected WHERE, GROUP BY, ORDER BY"},
      {"select id from p force index (a)", "400 at offset 17: expected a comma"},
      {"select id from p where", "400 at offset 22: WHERE has no condition"},
      {"select id from p where (a=1", "400 at offset 27: a bracket is not closed"},
      {"select id from p where a=1)", "400 at offset 26: a bracket closes"},
      {"select id from p where knn(v, 5, (0.5, 1e39))",
       "400 at offset 34: the vector has a number"},
      {"select id from p where (a in (1, 1e39, 2))", "planned"},
      {"select id from p where knn(v, 5, (0.5, 1)) and a in (1, 1e39)", "planned"},
      {"select id from p where (knn(v, 5, (1}) and a in (1e39))", "planned"},
      {"select id from p where knn(v, 5, (1) {) {, 1e39))", "planned"},
      {"select id from p where a in (1e39) and knn(v, 5, (0.5, -1e39))",
       "400 at offset 50: the vector has a number"},
      {"select id from p where f(a;b)", "400 several statements"},
      {"select id from p limit 5 where a=1", "400 at offset 25: where is given twice or out"},
      {"select id from p where a=1 where b=1", "400 at offset 27: where is given twice"},
      {"select id from p facet a limit 1 option b=1", "400 at offset 33: option is given twice"},
      {"select id from p limit -1", "400 at offset 17: LIMIT takes"},
      {"select id from p limit 9999999999", "400 at offset 17: LIMIT takes"},
      {"select id from p limit 1,2,3", "400 at offset 17: LIMIT takes"},
      {"select id from p order a", "400 at offset 23: expected by"},
      {"select id from p group 0 by a", "400 at offset 23: expected GROUP BY"},
      {"select id from p group a option b=1", "400 at offset 23: expected GROUP BY"},
      {"select id from p group as a", "400 at offset 23: expected GROUP BY"},
      {"select id from p group ) a", "400 at offset 23: expected GROUP BY"},
      {"select id from p order limit 1", "400 at offset 23: expected by"},
      {"select id from p facet a order facet()", "400 at offset 25: expected ORDER BY"},
      {"select id from p within group order by a", "400 at offset 39: WITHIN GROUP"},
      {"select a from p group by a having count(*)", "400 at offset 34: expected HAVING"},
      {"select a from p group by a having count(*)>1 and a=2", "400 at offset 43: HAVING compares"},
      {"select a from p group by a having count(*)>b", "400 at offset 43: HAVING compares"},
      {"select a from p group by a having avg(b)> =4", "400 at offset 42: HAVING compares"},
      {"select a from p group by a having avg(b)< >4", "400 at offset 42: HAVING compares"},
      {"select a from p group by a having a! =4", "400 at offset 34: expected HAVING"},
      {"select a from p group by a having a in 4", "400 at offset 34: expected IN and constants"},
      {"select a from p group by a having a in ()", "400 at offset 34: HAVING compares"},
      {"select a from p group by a having a>inf", "400 at offset 36: HAVING compares"},
      {"select a from p group by a having a>1e999", "400 at offset 36: HAVING compares"},
      {"select id from p option max_matches=0", "400 at offset 24: max_matches"},
      {"select id from p facet *", "400 at offset 23: FACET takes"},
      {"select id from p facet", "400 at offset 17: a clause is empty"},
      {"select id from p facet a limit 1 limit 2", "400 at offset 33: a clause of FACET"},
  };
  for (const auto& [statement, beginning] : cases)
    EXPECT_TRUE(refusal(statement).starts_with(beginning))
        << statement << ": " << refusal(statement);
}

std::string repeated(std::string_view text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

TEST(SelectRefusal, BoundsWhatAStatementCosts) {
  EXPECT_NE(refusal("select id" + repeated(",a", 20'000) + " from p"), "planned");
  EXPECT_NE(refusal("select id" + repeated(",a", 1'000) + " from p"), "planned");
  EXPECT_NE(refusal("select id from p order by a" + repeated(",a", 16)), "planned");
  EXPECT_EQ(refusal("select id from p" + repeated(" facet a", 256)), "planned");
  EXPECT_EQ(refusal("select id from p" + repeated(" facet a", 258)),
            "400 at offset 2071: more than 256 facets");
  EXPECT_EQ(refusal("select id from p where a in (1" + repeated(",1", 100'000) + ")"), "planned");
  const auto having = [](int values) {
    return refusal("select a from p group by a having a in (1" + repeated(",1", values - 1) + ")");
  };
  EXPECT_EQ(having(256), "planned");
  EXPECT_TRUE(having(257).contains("HAVING compares with more than 256 values"));
}

TEST(SelectRefusal, BoundsTheStatementsOfCountDistinctAndTheirText) {
  const auto counted = [](int columns, int facets, std::string_view where) {
    return refusal("select a" + repeated(",count(distinct a)", columns) + " from p where b='" +
                   std::string(where) + "'" + repeated(" facet a distinct b", facets));
  };
  EXPECT_EQ(counted(16, 0, ""), "planned");
  EXPECT_EQ(counted(9, 7, ""), "planned");
  EXPECT_TRUE(counted(17, 0, "").contains(": more than 16 of COUNT(DISTINCT"));
  EXPECT_TRUE(counted(9, 8, "").contains("more than 16 of COUNT(DISTINCT"));
  const std::string longest(4 << 20, 'x');
  EXPECT_EQ(counted(1, 0, longest), "planned") << "sent once, it is bounded by the request";
  EXPECT_EQ(counted(2, 0, longest.substr(longest.size() / 2 + 100)), "planned");
  EXPECT_TRUE(counted(2, 0, longest.substr(longest.size() / 2)).contains("too long"));
  EXPECT_TRUE(counted(0, 2, longest.substr(longest.size() / 2)).contains("too long"));
}

}  // namespace
}  // namespace karmad::select_refusal_tests
