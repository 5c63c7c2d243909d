// A shard that finds nothing lists the inner columns of its server. They are no part of the answer,
// and cost no other shard its rows.
#include "tests/agent/dialect/row_replies.hpp"
#include "tests/agent/dialect/select_planning.hpp"

namespace karmad {
namespace {

using select_planning::planned;

struct RowlessCase {
  std::string_view statement;
  std::vector<std::string> raw;      ///< columns of a shard without rows
  std::vector<std::string> columns;  ///< of one with rows, the hidden ones included
  std::string row;
  std::string shown;
};

const std::vector<RowlessCase>& rowless_cases() {
  static const std::vector<RowlessCase> cases = {
      {"SELECT * FROM t WHERE n=1",
       {"id:long long", "n:long", "karmad_0:long long", "karmad_1:long long", "title:string"},
       {"id:long long", "title:string", "n:long", "karmad_0:long long", "karmad_1:long long"},
       R"({"id":7,"title":"x","n":1,"karmad_0":1,"karmad_1":7})",
       R"({"id":7,"title":"x","n":1})"},
      {"SELECT title FROM t WHERE n=1 ORDER BY id ASC",
       {"id:long long", "title:string", "karmad_0:long long"},
       {"title:string", "karmad_0:long long"},
       R"({"title":"x","karmad_0":7})",
       R"({"title":"x"})"},
      {"SELECT brand, COUNT(*) c FROM t WHERE n=1 GROUP BY brand ORDER BY brand ASC",
       {"brand:string", "karmad_0:long long", "karmad_1:long long", "@groupby:long long",
        "@count:long long"},
       {"brand:string", "c:long long", "karmad_0:long long", "karmad_1:long long",
        "karmad_2:string"},
       R"({"brand":"a","c":3,"karmad_0":1,"karmad_1":7,"karmad_2":"a"})",
       R"({"brand":"a","c":3})"},
      {"SELECT MIN(price) FROM t WHERE n=1",
       {"min(price):float", "@groupby:long", "@count:long long"},
       {"min(price):float"},
       R"x({"min(price)":2.5})x",
       R"x({"min(price)":2.5})x"},
  };
  return cases;
}

TEST(RowlessReplies, AreLeftOutOfTheColumnsWhereverTheyStand) {
  for (const auto& [statement, raw, columns, row, shown] : rowless_cases()) {
    const auto plan = planned(statement).plan;
    const auto with_row = raw_reply({raw_set(columns, {row}), meta_set(1)});
    const auto without = raw_reply({raw_set(raw, {}), meta_set(0)});
    std::vector<std::string> visible;
    for (const auto& column : columns)
      if (!column.starts_with("karmad_")) visible.push_back(column);
    const auto expected = raw_reply({raw_set(visible, {shown})});
    EXPECT_EQ(select_merged(plan, {without, with_row}), expected) << statement;
    EXPECT_EQ(select_merged(plan, {with_row, without}), expected) << statement;
    EXPECT_EQ(select_merged(plan, {without, with_row, without}), expected) << statement;
    EXPECT_EQ(select_merged(plan, {with_row, without, without}), expected) << statement;
  }
}

TEST(RowlessReplies, OfAllShardsAreAnEmptyResultWithoutHiddenColumns) {
  for (const auto& [statement, raw, columns, row, shown] : rowless_cases()) {
    auto plan = planned(statement).plan;
    const auto without = raw_reply({raw_set(raw, {}), meta_set(0)});
    auto visible = raw;
    std::erase_if(visible, [](const auto& column) { return column.starts_with("karmad_"); });
    EXPECT_EQ(select_merged(plan, {without, without}), raw_reply({raw_set(visible, {})}))
        << statement;
    plan.form = RowForm::text;
    EXPECT_EQ(select_merged(plan, {without, without}).find("karmad"), std::string::npos);
    plan.form = RowForm::hits;
    EXPECT_EQ(select_merged(plan, {without, without}),
              R"({"took":0,"timed_out":false,"hits":{"total":0,"total_relation":"eq","hits":[]}})")
        << statement;
  }
}

// The server offers the token at `/sql` unasked.
TEST(RowlessReplies, HaveNoScrollTokenAndRowsOfAllShardsInAnOrderWithTheIdHaveOne) {
  const auto row =
      raw_reply({raw_set({"id:long long", "n:long"}, {R"({"id":7,"n":1})"}), meta_set(1)});
  const auto has_token = [&](std::string_view order, const std::vector<std::string>& answers) {
    const auto plan = planned(fmt::format("SELECT id, n FROM t {}", order), RowForm::hits).plan;
    return select_merged(plan, answers).contains(R"(]},"scroll":")");
  };
  const auto none = raw_reply({raw_set({"id:long long", "n:long"}, {}), meta_set(0)});
  for (const auto* const order : {"ORDER BY id ASC", "ORDER BY n DESC, id DESC"}) {
    EXPECT_TRUE(has_token(order, {row, none})) << order;
    EXPECT_FALSE(has_token(order, {none, none})) << order;
    EXPECT_FALSE(has_token(order, {row, ""})) << order;
  }
  for (const auto* const order : {"", "ORDER BY n ASC", "ORDER BY id ASC OPTION scroll=0"})
    EXPECT_FALSE(has_token(order, {row, none})) << order;
  // Where the id has no effect, or the order is one that no server continues.
  const auto offers = [](std::string_view text, RowForm form = RowForm::hits) {
    return planned(text, form).plan.offers_scroll;
  };
  EXPECT_TRUE(offers("SELECT n FROM t ORDER BY n ASC, id ASC, price ASC LIMIT 200000"));
  EXPECT_FALSE(offers("SELECT n FROM t ORDER BY meta.n ASC, id ASC"));
  EXPECT_FALSE(offers("SELECT n FROM t ORDER BY a ASC,b ASC,c ASC,d ASC,e ASC,id ASC"));
  EXPECT_FALSE(offers("SELECT n, COUNT(*) FROM t GROUP BY n ORDER BY id ASC"));
  EXPECT_FALSE(offers("SELECT id FROM t ORDER BY id ASC FACET n"));
  EXPECT_FALSE(offers("SELECT * FROM (SELECT id FROM t ORDER BY id ASC) ORDER BY id ASC"));
  EXPECT_TRUE(offers("SELECT id FROM t ORDER BY id ASC", RowForm::raw)) << "for SHOW SCROLL";
}

TEST(RowlessReplies, AreSoForEachFacetByItself) {
  auto plan = planned("SELECT id FROM t ORDER BY id ASC LIMIT 0,1 FACET brand FACET n").plan;
  const std::vector<std::string> raw = {"id:long long", "brand:string", "n:long",
                                        "@groupby:long long", "@count:long long"};
  const auto without =
      raw_reply({raw_set(raw, {}), raw_set(raw, {}), raw_set(raw, {}), meta_set(0)});
  const auto brands =
      raw_set({"brand:string", "count(*):long long"}, {R"x({"brand":"a","count(*)":1})x"});
  const auto with_rows = raw_reply(
      {raw_set({"id:long long"}, {R"({"id":7})"}), brands, raw_set(raw, {}), meta_set(1)});
  const auto expected =
      raw_reply({raw_set({"id:long long"}, {R"({"id":7})"}), brands, raw_set(raw, {})});
  EXPECT_EQ(select_merged(plan, {without, with_rows}), expected);
  EXPECT_EQ(select_merged(plan, {with_rows, without, without}), expected);
  plan.form = RowForm::hits;
  EXPECT_EQ(
      select_merged(plan, {without, without}),
      R"({"took":0,"timed_out":false,"hits":{"total":0,"total_relation":"eq","hits":[]},"aggregations":{"brand":{"buckets":[]},"n":{"buckets":[]}}})");
}

TEST(RowlessReplies, MayHaveNoTotals) {  // a percolate table, with MATCH()
  const auto plan = planned("SELECT id FROM pq WHERE MATCH('x')").plan;
  const auto nothing =
      raw_reply({raw_set({":string"}, {}), raw_set({"Variable_name:string", "Value:string"}, {})});
  const auto expected = raw_reply({raw_set({":string"}, {})});
  EXPECT_EQ(select_merged(plan, {nothing, nothing}), expected);
  // Releases of 2026 do not answer the SHOW META that follows.
  const auto alone = raw_reply({raw_set({":string"}, {})});
  EXPECT_EQ(select_merged(plan, {alone, alone}), expected);
  EXPECT_EQ(select_merged(plan, {alone, nothing, alone}), expected);
  const auto faceted = planned("SELECT id FROM pq WHERE MATCH('x') FACET id").plan;
  EXPECT_TRUE(select_merged(faceted, {alone, alone}).find("bad shard") == std::string::npos);
  for (const auto& wrong : {raw_reply({raw_set({"id:long"}, {})}), std::string("[")})
    EXPECT_TRUE(select_merged(plan, {wrong, wrong}).starts_with("bad shard 0: ")) << wrong;
}

TEST(RowlessReplies, LeaveTheDistinctValuesOfOtherShardsAlone) {
  const auto plan =
      planned("SELECT n, COUNT(DISTINCT brand) d FROM t GROUP BY n ORDER BY n ASC").plan;
  const std::vector<std::string> raw = {"n:long", "@groupby:long", "@count:long long",
                                        "@distinct:long", "brand:string"};
  const auto without = raw_reply({raw_set(raw, {}), meta_set(0), raw_set({"@count:long"}, {})});
  const std::vector<std::string> columns = {"n:long", "d:long", "karmad_0:long", "karmad_1:long",
                                            "karmad_2:long"};
  const auto with_rows = raw_reply(
      {raw_set(columns, {R"({"n":5,"d":2,"karmad_0":1,"karmad_1":3,"karmad_2":5})"}), meta_set(1),
       raw_set({"n:long", "brand:string", "karmad_3:long", "karmad_4:long"},
               {R"({"n":5,"brand":"a","karmad_3":0,"karmad_4":7})",
                R"({"n":5,"brand":"b","karmad_3":0,"karmad_4":8})"})});
  const auto expected = raw_reply({raw_set({"n:long", "d:long"}, {R"({"n":5,"d":2})"})});
  EXPECT_EQ(select_merged(plan, {without, with_rows}), expected);
  EXPECT_EQ(select_merged(plan, {with_rows, without, without}), expected);
}

TEST(RowlessReplies, OfAggregatesAreARowForRowsAndNoHit) {
  const auto statement = "SELECT COUNT(*), MIN(price) FROM t WHERE n=1";
  const std::vector<std::string> columns = {"count(*):long long", "min(price):float"};
  const auto nothing =
      raw_reply({raw_set(columns, {R"x({"count(*)":0,"min(price)":null})x"}), meta_set(0)});
  EXPECT_EQ(select_merged(planned(statement).plan, {nothing, nothing}),
            raw_reply({raw_set(columns, {R"x({"count(*)":0,"min(price)":null})x"})}));
  EXPECT_EQ(select_merged(planned(statement, RowForm::hits).plan, {nothing, nothing}),
            R"({"took":0,"timed_out":false,"hits":{"total":0,"total_relation":"eq","hits":[]}})");
}

}  // namespace
}  // namespace karmad
