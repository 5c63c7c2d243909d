#include "agent/dialect/replies/error_text.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "agent/dialect/kinds/dialects.hpp"
#include "agent/dialect/plan/plan.hpp"
#include "tests/agent/dialect/changes_support.hpp"

namespace karmad {
namespace {

TEST(ErrorText, HasTheClientsNameOfTheTable) {
  EXPECT_EQ(without_table("table m_7: query error: x"), "query error: x");
  EXPECT_EQ(without_table("index m: sort-by"), "sort-by");
  EXPECT_EQ(without_table("table of contents: x"), "table of contents: x");
  EXPECT_EQ(without_table("table"), "table");
  EXPECT_EQ(with_table_of_client("table m_7: unknown column: a", "goods"),
            "table goods: unknown column: a");
  EXPECT_EQ(with_table_of_client("unknown column: a", "goods"), "unknown column: a");
}

TEST(ErrorText, QuotesTheClientsStatementWhereTheMirrorQuotesItsOwn) {
  const struct {
    std::string_view error, statement, expected;
  } cases[] = {
      {"P01: syntax error, unexpected AS near 'AS e1, id AS karmad_0 FROM m WHERE n=1 LIMIT 0,9; "
       "SHOW META'",
       "SELECT 'x' AS e1 FROM t WHERE n=1 LIMIT 3,6 ;",
       "P01: syntax error, unexpected AS near 'AS e1 FROM t WHERE n=1 LIMIT 3,6'"},
      {"P01: syntax error, unexpected $end near 'WHERE'", "SELECT id FROM t WHERE",
       "P01: syntax error, unexpected $end near 'WHERE'"},
      {"table m: parse error: P09: syntax error, unexpected '(', expecting $end near 'brand)'",
       "SELECT ANY_VALUE(brand) FROM t",
       "table t: parse error: P09: syntax error, unexpected '(', expecting $end near 'brand)'"},
      {"table m: P08: syntax error, unexpected $end near ''", "SELECT id FROM t",
       "table t: P08: syntax error, unexpected $end near ''"},
      {"P01: syntax error, unexpected x near 'SHOW META'", "SELECT id FROM t",
       "P01: syntax error, unexpected x"},
      {"table m: sort-by attribute 'karmad_12' not found", "SELECT id FROM t",
       "table t: sort-by attribute '(expression)' not found"},
      {"offset out of bounds (offset=5, max_matches=3)", "SELECT id FROM t",
       "offset out of bounds (offset=5, max_matches=3)"},
  };
  for (const auto& [error, statement, expected] : cases)
    EXPECT_EQ(error_for_client(error, {statement, statement, "t"}), expected);
}

TEST(ErrorText, QuotesWhatTheClientWroteNotWhatEnginesRead) {
  const std::unique_ptr<Dialect> sql = make_manticore_sql({});
  const ClientRequest request{"POST", "/sql", "mode=raw", "text/plain",
                              "SELECT 'x' AS e, p.n FROM goods AS p WHERE p.id > 1"};
  const auto parsed = sql->parse(request);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(body_for_client(
                *parsed, 500,
                R"({"error":"P01: syntax error near 'AS e,   n FROM m_1      WHERE   id > 1'"})"),
            R"({"error":"P01: syntax error near 'AS e, p.n FROM goods AS p WHERE p.id > 1'"})");
  EXPECT_EQ(body_for_client(*parsed, 500, R"({"error":"table m_1: unknown column: n"})"),
            R"({"error":"table goods: unknown column: n"})");
  EXPECT_EQ(body_for_client(*parsed, 500, R"({"error":"out of bounds"})"), std::nullopt);
  EXPECT_EQ(body_for_client(*parsed, 200, R"({"error":"table m_1: x"})"), std::nullopt);
}

TEST(ErrorText, OfSeveralShardsNamesTheTableOfTheSearchAlsoInJson) {
  const auto parsed =
      make_manticore_json({})->parse({"POST", "/search", "", "", R"({"table":"goods"})"});
  ASSERT_TRUE(parsed);
  const auto told = [&](std::string_view body, std::size_t shards, int status = 500) {
    return body_for_client(*parsed, status, body, shards).value_or("as it came");
  };
  constexpr std::string_view kOfMirror =
      R"({"error":"table m_1: sort-by attribute 'n' not found"})";
  EXPECT_EQ(told(kOfMirror, 2), R"({"error":"table goods: sort-by attribute 'n' not found"})");
  EXPECT_EQ(told(R"({"error":"index m_1: no \"x\""})", 5), R"({"error":"table goods: no \"x\""})");
  EXPECT_EQ(told(kOfMirror, 1), "as it came");
  EXPECT_EQ(told(kOfMirror, 2, 200), "as it came");
  for (const auto* same : {R"({"error":"table goods: x"})", R"({"error":"no field"})", "cut",
                           R"({"error":{"reason":"table m_1: x"}})"})
    EXPECT_EQ(told(same, 3), "as it came") << same;
}

// The directions that are added are no part of what the client wrote.
TEST(ErrorText, QuotesWhatTheClientWroteWithoutTheDirectionsThatWereAdded) {
  const std::unique_ptr<Dialect> sql = make_manticore_sql({});
  for (const std::string_view written :
       {"select id from goods order by price dsc", "select id from goods order by n limit x",
        "select id from goods order by n )", "select id from goods order by n, m asc, o lim 5",
        "select g.n from goods g group by a within group order by b, c order by g.d, e",
        "select n from goods order by n facet n order by a, b facet m",
        "select n from goods order by n",
        "select * from (select n, m from goods order by n, m desc limit 9) order by m, n x"}) {
    const ClientRequest request{"POST", "/sql", "mode=raw", "text/plain", written};
    const auto parsed = sql->parse(request);
    if (!parsed) continue;  // refused before a mirror sees it
    std::string buffer;
    const std::vector<std::string> tables{"goods"};
    const std::string read(sql->write(request, *parsed, tables, buffer).body);
    for (std::size_t at = 0; at < read.size(); ++at) {
      const auto body =
          fmt::format(R"({{"error":"P01: syntax error near '{}'"}})", read.substr(at));
      const auto told = body_for_client(*parsed, 500, body).value_or(body);
      const auto quoted = told.substr(told.find('\'') + 1);
      EXPECT_TRUE(written.ends_with(quoted.substr(0, quoted.rfind('\''))))
          << written << " at " << at << ": " << told;
    }
  }
}

TEST(ErrorText, OfAChangeThatAllShardsRefuseQuotesWhatTheClientWrote) {
  const std::unique_ptr<Dialect> sql = make_manticore_sql({});
  const ClientRequest request{"POST", "/sql", "mode=raw", "text/plain",
                              "UPDATE goods AS g SET g.n 5 WHERE g.id > 1"};
  const auto parsed = sql->parse(request);
  ASSERT_TRUE(parsed);
  const auto plan = sql->plan(request, *parsed, ShardLayout(2));
  ASSERT_TRUE(plan);
  const auto refusal = R"({"error":"P01: syntax error near '5 WHERE   id > 1'"})";
  std::string out;
  EXPECT_EQ(
      merge_changes(*plan, std::vector{refusing(0, 500, refusal), refusing(1, 500, refusal)}, out),
      500);
  EXPECT_EQ(out, R"({"error":"P01: syntax error near '5 WHERE g.id > 1'"})");
}

TEST(ErrorText, CountsOffsetsInWhatTheClientWrote) {
  const std::unique_ptr<Dialect> sql = make_manticore_sql({});
  const auto refusal = [&](std::string_view written) {
    const ClientRequest request{"POST", "/sql", "mode=raw", "text/plain", written};
    const auto parsed = sql->parse(request);
    if (!parsed) return parsed.error().reason;
    const auto plan = sql->plan(request, *parsed, ShardLayout(2));
    return plan ? std::string() : plan.error().reason;
  };
  const std::string_view statement =
      "select id from goods order by n, m limit 3 facet brand order by sum(price)";
  const auto reason = refusal(statement);
  EXPECT_TRUE(reason.starts_with(fmt::format("at offset {}:", statement.find("sum(price)"))))
      << reason;
  const std::string_view directed =
      "select id from goods order by n asc, m asc limit 3 facet brand order by sum(price)";
  EXPECT_TRUE(
      refusal(directed).starts_with(fmt::format("at offset {}:", directed.find("sum(price)"))));
  EXPECT_EQ(refusal("select g.n2 from goods g group by g.n, 2 order by g.n, m limit 2"),
            "P01: syntax error, unexpected integer near '2 order by g.n, m limit 2'");
}

}  // namespace
}  // namespace karmad
