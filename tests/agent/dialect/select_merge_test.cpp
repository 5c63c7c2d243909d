#include "agent/dialect/merge/merge_steps.hpp"
#include "agent/dialect/write/write_rows.hpp"
#include "tests/agent/dialect/row_replies.hpp"
#include "tests/agent/dialect/select_planning.hpp"

namespace karmad {
namespace {

constexpr ColumnAt kLast{0, true};

/// `SELECT id, price … ORDER BY price ASC, id ASC`
SelectPlan by_price() {
  SelectPlan plan;
  plan.rows.order = {{{1}}, {{0}}};
  plan.rows.id = ColumnAt{0};
  return plan;
}

const std::vector<std::string> kIdPrice = {"id:long long", "price:long"};

std::string documents(const std::vector<std::string>& rows, std::size_t found) {
  return raw_reply({raw_set(kIdPrice, rows), meta_set(found)});
}

std::string written(const SelectMeta& meta) {
  std::string out;
  append_sets(RowForm::raw, {&meta.rows, 1}, out);
  return out;
}

TEST(SelectMerge, PutsDocumentsIntoTheCommonOrderAndKeepsTheServersLayout) {
  const auto one = documents({R"({"id":9007199254740993,"price":1})", R"({"id":4,"price":7})"}, 5);
  const auto two = documents({R"({"id":9007199254740992,"price":1})", R"({"id":2,"price":9})"}, 5);
  auto plan = by_price();
  EXPECT_EQ(select_merged(plan, {one, "", two}),
            raw_reply({raw_set(kIdPrice, {R"({"id":9007199254740992,"price":1})",
                                          R"({"id":9007199254740993,"price":1})",
                                          R"({"id":4,"price":7})", R"({"id":2,"price":9})"})}));
  plan.rows.offset = 1;
  plan.rows.limit = 2;
  EXPECT_EQ(rows_in(select_merged(plan, {one, two})),
            "{\"id\":9007199254740993,\"price\":1},\n{\"id\":4,\"price\":7}\n");
  plan.rows.limit = 0;
  EXPECT_EQ(select_merged(plan, {one, two}), raw_reply({raw_set(kIdPrice, {})}));
}

TEST(SelectMerge, SortsAndCutsTheRowsOfASelectInBracketsOnceMore) {
  const auto one = documents({R"({"id":1,"price":1})", R"({"id":4,"price":7})"}, 5);
  const auto two = documents({R"({"id":3,"price":1})", R"({"id":2,"price":9})"}, 5);
  auto plan = by_price();
  plan.rows.limit = 3;
  plan.rows.outer = OuterRows{{{{1}, true}, {{0}, true}}, 1, 5};
  EXPECT_EQ(rows_in(select_merged(plan, {one, two})),
            "{\"id\":3,\"price\":1},\n{\"id\":1,\"price\":1}\n");
  plan.rows.outer = OuterRows{{{{1}}}, 0, 2};  // equal rows keep their order
  EXPECT_EQ(rows_in(select_merged(plan, {one, two})),
            "{\"id\":1,\"price\":1},\n{\"id\":3,\"price\":1}\n");
  plan.rows.outer = OuterRows{{{{0}}}, 9, 2};
  EXPECT_EQ(rows_in(select_merged(plan, {one, two})), "");
}

TEST(SelectMerge, ATotalOfShardsThatStopEarlyIsThatOfOneServer) {
  const auto shard = [](std::size_t found, bool more, int id = 1) {
    return raw_reply({raw_set(kIdPrice, {fmt::format(R"({{"id":{},"price":1}})", id)}),
                      meta_set(found, {}, "0.001", more ? "gte" : "eq")});
  };
  const auto total = [](const SelectPlan& plan, std::vector<std::string> replies) {
    SelectMeta meta;
    select_merged(plan, replies, {.meta = &meta});
    const auto text = written(meta);
    const auto at = text.find(R"("total_found","Value":")") + 23;
    return text.substr(at, text.find('"', at) - at);
  };
  auto plan = by_price();
  EXPECT_EQ(total(plan, {shard(20, true), shard(20, true, 2)}), "40");
  plan.rows.stops_at = 25;
  EXPECT_EQ(total(plan, {shard(20, true), shard(20, true, 2)}), "25");
  EXPECT_EQ(total(plan, {shard(20, true), shard(3, false, 2)}), "23");
  EXPECT_EQ(total(plan, {shard(90, false), shard(30, false, 2)}), "120");
}

TEST(SelectMerge, KeepsTheLastShardsCopyOfADocumentAndCountsItOnce) {
  auto plan = by_price();
  plan.form = RowForm::hits;
  const auto one = documents({R"({"id":1,"price":3})", R"({"id":2,"price":4})"}, 2);
  const auto two = documents({R"({"id":1,"price":3})"}, 9);
  SelectMeta meta;
  EXPECT_EQ(
      select_merged(plan, {one, two}, {.took = std::chrono::milliseconds(7), .meta = &meta}),
      R"({"took":7,"timed_out":false,"hits":{"total":10,"total_relation":"eq","hits":[{"_id":1,"_score":1,"_source":{"price":3}},{"_id":2,"_score":1,"_source":{"price":4}}]}})");
  EXPECT_TRUE(written(meta).contains(R"("total_found","Value":"10")")) << written(meta);
}

TEST(SelectMerge, OrdersByWhatTheClientDoesNotGet) {
  SelectPlan plan;
  plan.rows.order = {{kLast, true}, {{0}}};
  plan.rows.id = ColumnAt{0};
  plan.rows.score = kLast;
  plan.rows.hidden = 1;
  const std::vector<std::string> columns = {"id:long long", "tags:multi", "meta:json", "w:long"};
  const auto one =
      raw_reply({raw_set(columns, {R"({"id":1,"tags":"2,3","meta":"{\"a\":\"x\"}","w":10})",
                                   R"({"id":3,"tags":"","meta":"","w":5})"}),
                 meta_set(2)});
  const auto two =
      raw_reply({raw_set(columns, {R"({"id":2,"tags":"7","meta":"red","w":10})"}), meta_set(1)});
  EXPECT_EQ(
      rows_in(select_merged(plan, {one, two})),
      "{\"id\":1,\"tags\":\"2,3\",\"meta\":\"{\\\"a\\\":\\\"x\\\"}\"},\n"
      "{\"id\":2,\"tags\":\"7\",\"meta\":\"red\"},\n{\"id\":3,\"tags\":\"\",\"meta\":\"\"}\n");
  plan.form = RowForm::hits;
  EXPECT_EQ(
      select_merged(plan, {one, two}),
      R"({"took":0,"timed_out":false,"hits":{"total":3,"total_relation":"eq","hits":[{"_id":1,"_score":10,"_source":{"tags":[2,3],"meta":{"a":"x"}}},{"_id":2,"_score":10,"_source":{"tags":[7],"meta":"red"}},{"_id":3,"_score":5,"_source":{"tags":[],"meta":null}}]}})");
}

TEST(SelectMerge, ComparesStringsByTheCollationAndValuesInsideJsonAsTexts) {
  SelectPlan plan;
  plan.rows.order = {{{1}}, {{0}}};
  const std::vector<std::string> columns = {"id:long long", "s:string"};
  const auto one = raw_reply({raw_set(columns, {R"({"id":1,"s":"B"})"}), meta_set(1)});
  const auto two = raw_reply({raw_set(columns, {R"({"id":2,"s":"a"})"}), meta_set(1)});
  EXPECT_TRUE(rows_in(select_merged(plan, {one, two})).starts_with(R"({"id":2)"));
  plan.collation = Collation::binary;
  EXPECT_TRUE(rows_in(select_merged(plan, {one, two})).starts_with(R"({"id":1)"));
  plan.rows.order = {{{0}, false, true}};
  const auto nine = raw_reply({raw_set(columns, {R"({"id":9,"s":"a"})"}), meta_set(1)});
  const auto ten = raw_reply({raw_set(columns, {R"({"id":10,"s":"a"})"}), meta_set(1)});
  EXPECT_TRUE(rows_in(select_merged(plan, {nine, ten})).starts_with(R"({"id":10)"));
}

// SS-104: one server orders booleans, arrays and objects inside JSON like missing values, though
// rows show `true` as 1. Shards sort so, and pages lose no row.
TEST(SelectMerge, BooleansInsideJsonAreInTheOrderOfOneServer) {
  SelectPlan plan;
  auto& rows = plan.rows;
  rows.order = {{.column = {1},
                 .descending = true,
                 .as_text = true,
                 .attribute = ColumnAt{2},
                 .steps = {{.member = "f"}}},
                {{0}}};
  rows.hidden = 1;
  rows.id = ColumnAt{0};
  const std::vector<std::string> columns = {"id:long long", "m.f:string", "karmad_0:json"};
  const auto row = [](int id, std::string_view shown, std::string_view value) {
    return fmt::format(R"({{"id":{},"m.f":{},"karmad_0":"{{\"n\":1{}}}"}})", id, shown, value);
  };
  const auto of = [](std::string_view value) { return fmt::format(R"(,\"f\":{})", value); };
  const auto one =
      raw_reply({raw_set(columns, {row(10, R"("1")", of(R"(\"1\")")), row(1, R"("1")", of("true")),
                                   row(4, "null", ""), row(6, R"("0")", of("false"))}),
                 meta_set(4)});
  const auto two =
      raw_reply({raw_set(columns, {row(11, R"("1")", of("1")), row(12, R"("0")", of("0")),
                                   row(2, R"("0")", of("false")), row(3, R"("1")", of("true")),
                                   row(5, R"("[1]")", of("[1]"))}),
                 meta_set(5)});
  const auto ids = [&] {
    std::string found;
    const auto text = rows_in(select_merged(plan, {one, two}));
    for (auto at = text.find("\"id\":"); at != text.npos; at = text.find("\"id\":", at + 1))
      found += text.substr(at + 5, text.find(',', at) - at - 5) + " ";
    return found;
  };
  EXPECT_EQ(ids(), "10 11 12 1 2 3 4 5 6 ");
  rows.limit = 2;
  std::string pages;
  for (rows.offset = 0; rows.offset < 10; rows.offset += 2) pages += ids();
  EXPECT_EQ(pages, "10 11 12 1 2 3 4 5 6 ");
}

TEST(SelectMerge, GroupsAreInTheOrderOfBooleansInsideJsonToo) {
  SelectPlan plan;
  auto& rows = plan.rows;
  rows.grouped = true;
  rows.group = {{0}, {1}};
  rows.exact = {true, true};
  rows.order = {
      {.column = {0}, .as_text = true, .attribute = ColumnAt{2}, .steps = {{.member = "f"}}},
      {{1}}};
  rows.hidden = 1;
  const std::vector<std::string> columns = {"m.f:string", "n:long", "karmad_0:json"};
  const auto one = raw_reply({raw_set(columns, {R"({"m.f":"1","n":1,"karmad_0":"{\"f\":true}"})",
                                                R"({"m.f":"0","n":2,"karmad_0":"{\"f\":false}"})"}),
                              meta_set(2)});
  const auto two = raw_reply({raw_set(columns, {R"({"m.f":null,"n":3,"karmad_0":"{}"})",
                                                R"({"m.f":"0","n":0,"karmad_0":"{\"f\":0}"})"}),
                              meta_set(2)});
  EXPECT_EQ(rows_in(select_merged(plan, {one, two})),
            "{\"m.f\":\"1\",\"n\":1},\n{\"m.f\":\"0\",\"n\":2},\n{\"m.f\":null,\"n\":3},\n"
            "{\"m.f\":\"0\",\"n\":0}\n");
}

TEST(SelectMerge, ShowsTheColumnsThatAllShardsHave) {
  SelectPlan plan;
  plan.rows.order = {{kLast}};
  plan.rows.hidden = 1;
  const auto one = raw_reply({raw_set({"id:long long", "a:long", "b:string", "k:long"},
                                      {R"({"id":1,"a":5,"b":"x","k":2})"}),
                              meta_set(1)});
  const auto two =
      raw_reply({raw_set({"id:long long", "b:string", "k:long"}, {R"({"id":2,"b":"y","k":1})"}),
                 meta_set(1)});
  EXPECT_EQ(select_merged(plan, {one, two}),
            raw_reply({raw_set({"id:long long", "b:string"},
                               {R"({"id":2,"b":"y"})", R"({"id":1,"b":"x"})"})}));
}

TEST(SelectMerge, TwoColumnsOfOneNameKeepTheirValuesWhicheverShardsHaveRows) {
  SelectPlan plan;
  plan.rows.order = {{kLast}, {{0}}};
  const std::vector<std::string> columns = {"id:long long", "town:string", "town:long"};
  const auto none = raw_reply({raw_set({"id:long long", "@town:string"}, {}), meta_set(0)});
  const auto one =
      raw_reply({raw_set(columns, {R"({"id":1,"town":"Ulm","town":7})"}), meta_set(1)});
  const auto two =
      raw_reply({raw_set(columns, {R"({"id":2,"town":"Bonn","town":3})"}), meta_set(1)});
  const auto wider = raw_reply({raw_set({"id:long long", "town:string", "more:long", "town:long"},
                                        {R"({"id":3,"town":"Kiel","more":0,"town":5})"}),
                                meta_set(1)});
  const std::string first = "{\"id\":2,\"town\":\"Bonn\",\"town\":3},\n";
  const std::string last = "{\"id\":1,\"town\":\"Ulm\",\"town\":7}\n";
  EXPECT_EQ(rows_in(select_merged(plan, {none, one, two})), first + last);
  EXPECT_EQ(rows_in(select_merged(plan, {one, none, two})), first + last);
  EXPECT_EQ(rows_in(select_merged(plan, {wider, one, two})),
            first + "{\"id\":3,\"town\":\"Kiel\",\"town\":5},\n" + last);
}

/// `SELECT brand, COUNT(*), SUM(v), MIN(v), MAX(v), AVG(v), GROUP_CONCAT(t) … GROUP BY brand
/// ORDER BY COUNT(*) DESC, brand ASC`
SelectPlan by_brand() {
  SelectPlan plan;
  auto& rows = plan.rows;
  rows.grouped = true;
  rows.group = {{0}};
  rows.folded = {{{1}, Fold::sum},     {{2}, Fold::sum},       {{3}, Fold::smallest},
                 {{4}, Fold::largest}, {{5}, Fold::mean, {1}}, {{6}, Fold::concat}};
  rows.order = {{{1}, true}, {{0}}};
  return plan;
}

const std::vector<std::string> kBrands = {"brand:string", "n:long long", "s:long long", "lo:long",
                                          "hi:long",      "m:double",    "t:string"};

std::string brand_row(std::string_view brand, std::string_view values) {
  return fmt::format(R"({{"brand":"{}",{}}})", brand, values);
}

TEST(SelectMerge, FoldsGroupsWithEqualKeys) {
  const auto globex = brand_row("globex", R"("n":1,"s":1,"lo":1,"hi":1,"m":1.000000,"t":"c")");
  const auto zeta = brand_row("zeta", R"("n":1,"s":1,"lo":1,"hi":1,"m":1.000000,"t":"e")");
  const auto big =
      brand_row("acme", R"("n":3,"s":9223372036854775807,"lo":-5,"hi":7,"m":2.000000,"t":"a,b")");
  const auto small = brand_row("Acme", R"("n":1,"s":5,"lo":-7,"hi":6,"m":4.000000,"t":"d")");
  const auto one = raw_reply({raw_set(kBrands, {big, globex}), meta_set(2)});
  const auto two = raw_reply({raw_set(kBrands, {small, zeta}), meta_set(2)});
  const auto folded =
      std::string(R"("n":4,"s":-9223372036854775804,"lo":-7,"hi":7,"m":2.500000,"t":"a,b,d")");
  auto plan = by_brand();
  SelectMeta meta;
  EXPECT_EQ(rows_in(select_merged(plan, {one, two}, {.meta = &meta})),
            brand_row("acme", folded) + ",\n" + globex + ",\n" + zeta + "\n");
  EXPECT_TRUE(written(meta).contains(R"("total_found","Value":"3")")) << written(meta);

  plan.rows.having = RowCondition{{1}, RowCondition::Is::greater, false, {"1"}};
  plan.form = RowForm::hits;
  EXPECT_EQ(
      select_merged(plan, {one, two}),
      R"({"took":0,"timed_out":false,"hits":{"total":1,"total_relation":"eq","hits":[{"_score":1,"_source":{"brand":"acme",)" +
          folded + "}}]}}");
}

TEST(SelectMerge, TakesAnExactMeanFromSumAndCountAndIgnoresShardsWithoutDocuments) {
  SelectPlan plan;
  plan.rows.grouped = true;
  plan.rows.hidden = 1;
  plan.rows.folded = {{{0}, Fold::mean, {1}, ColumnAt{3}},
                      {{1}, Fold::sum},
                      {{2}, Fold::largest},
                      {{3}, Fold::sum}};
  const std::vector<std::string> columns = {"m:double", "n:long", "hi:long", "s:long"};
  const auto reply = [&](std::string_view row) {
    return raw_reply({raw_set(columns, {std::string(row)}), meta_set(1)});
  };
  EXPECT_EQ(rows_in(select_merged(plan, {reply(R"({"m":0.000000,"n":0,"hi":0,"s":0})"),
                                         reply(R"({"m":-0.333333,"n":3,"hi":-2,"s":-1})"),
                                         reply(R"({"m":-1.000000,"n":3,"hi":-3,"s":-3})")})),
            R"({"m":-0.666667,"n":6,"hi":-2})"
            "\n");
}

TEST(SelectMerge, ShowsNoRowForAggregatesOverNothingUnlessTheClientCounts) {
  SelectPlan plan;
  plan.rows.grouped = true;
  plan.rows.folded = {{{0}, Fold::mean, {1}}, {{1}, Fold::sum}};
  const auto nothing =
      raw_reply({raw_set({"m:double", "n:long"}, {R"({"m":null,"n":0})"}), meta_set(0)});
  EXPECT_EQ(rows_in(select_merged(plan, {nothing, nothing})), "{\"m\":null,\"n\":0}\n");
  plan.rows.hidden = 1;
  plan.rows.documents = ColumnAt{1};
  EXPECT_EQ(rows_in(select_merged(plan, {nothing, nothing})), "");
}

TEST(SelectMerge, CountsDistinctValuesInThePairsOfAllShards) {
  SelectPlan plan;
  plan.rows.grouped = true;
  plan.rows.group = {{0}};
  plan.rows.folded = {{{1}, Fold::distinct}};
  plan.rows.order = {{{0}}};
  plan.pairs = {{.keys = 1, .asked = 3}};
  const std::vector<std::string> columns = {"b:string", "d:long"};
  const std::vector<std::string> pairs = {"b:string", "v:long"};
  const auto one =
      raw_reply({raw_set(columns, {R"({"b":"x","d":2})", R"({"b":"y","d":1})"}), meta_set(2),
                 raw_set(pairs, {R"({"b":"x","v":1})", R"({"b":"x","v":2})"})});
  const auto two = raw_reply({raw_set(columns, {R"({"b":"x","d":2})"}), meta_set(1),
                              raw_set(pairs, {R"({"b":"X","v":2})", R"({"b":"x","v":3})"})});
  EXPECT_EQ(select_merged(plan, {one, two}),
            raw_reply({raw_set(columns, {R"({"b":"x","d":3})", R"({"b":"y","d":1})"})}));
  plan.pairs[0].asked = 2;
  EXPECT_NE(select_merged(plan, {one, two}).find("\"warning\":\"estimated: d; "),
            std::string::npos);
}

/// `SELECT COUNT(DISTINCT v) d`
SelectPlan distinct_of_all() {
  SelectPlan plan;
  plan.rows.grouped = true;
  plan.rows.folded = {{.column = {0}, .fold = Fold::distinct}};
  plan.pairs = {{.keys = 0, .number = 2}};
  return plan;
}

// SS-104: one server counts texts by their bytes, whatever the collation groups them by.
TEST(SelectMerge, CountsDifferentTextsByTheirBytes) {
  auto plan = distinct_of_all();
  const std::vector<std::string> pairs = {"v:string", "karmad_0:long long", "karmad_1:long long"};
  const auto shard = [&](const std::vector<std::string>& rows) {
    return raw_reply({raw_set({"d:long"}, {R"({"d":2})"}), meta_set(1), raw_set(pairs, rows)});
  };
  const auto one = shard({R"({"v":"Acme","karmad_0":5,"karmad_1":7})",
                          R"({"v":"acme","karmad_0":0,"karmad_1":8})",
                          R"({"v":"É","karmad_0":0,"karmad_1":9})"});
  const auto two = shard({R"({"v":"ACME","karmad_0":6,"karmad_1":70})",
                          R"({"v":"acme","karmad_0":0,"karmad_1":80})",
                          R"({"v":"\u00c9","karmad_0":0,"karmad_1":90})"});
  for (const auto collation : {Collation::libc_ci, Collation::binary}) {
    plan.collation = collation;
    EXPECT_EQ(rows_in(select_merged(plan, {one, two})), "{\"d\":4}\n");
  }
  plan.pairs[0].number.reset();
  EXPECT_EQ(rows_in(select_merged(plan, {one, two})), "{\"d\":4}\n");
}

// SS-104: of floats the value counts, of which rows show six digits.
TEST(SelectMerge, CountsDifferentFloatsThatAreWrittenAlike) {
  auto plan = distinct_of_all();
  const auto shard = [&](std::string_view type, const std::vector<int>& numbers) {
    std::vector<std::string> rows;
    for (const auto number : numbers)
      rows.push_back(fmt::format(R"({{"v":0.250000,"karmad_0":0,"karmad_1":{}}})", number));
    return raw_reply(
        {raw_set({"d:long"}, {R"({"d":2})"}), meta_set(1),
         raw_set({fmt::format("v:{}", type), "karmad_0:long", "karmad_1:long long"}, rows)});
  };
  const auto counted = [&](std::string_view type) {
    return rows_in(select_merged(plan, {shard(type, {1, 2}), shard(type, {2, 3})}));
  };
  EXPECT_EQ(counted("float"), "{\"d\":3}\n");
  EXPECT_EQ(counted("double"), "{\"d\":3}\n");
  EXPECT_EQ(counted("long"), "{\"d\":1}\n");
  plan.pairs[0].number = 3;
  EXPECT_TRUE(counted("float").starts_with("bad shard 0")) << counted("float");
}

TEST(SelectMerge, SaysWhichColumnsAreEstimates) {
  auto plan = by_price();
  plan.rows = {};
  plan.rows.order = {{{1}, true}, {{0}}};
  plan.rows.limit = 1;
  plan.rows.grouped = true;
  plan.rows.group = {{0}};
  plan.rows.folded = {{{1}, Fold::sum}};
  plan.rows.asked = 2;
  const auto one = documents({R"({"id":1,"price":5})", R"({"id":2,"price":4})"}, 9);
  const auto two = documents({R"({"id":1,"price":5})"}, 1);
  EXPECT_EQ(select_merged(plan, {one, two}),
            raw_reply({raw_set(kIdPrice, {R"({"id":1,"price":10})"})}))
      << "the full shard has returned this group, and the other one has no more";
  const auto three = documents({R"({"id":3,"price":50})"}, 1);
  EXPECT_EQ(select_merged(plan, {one, three}),
            raw_reply({raw_set(kIdPrice, {R"({"id":3,"price":50})"},
                               "estimated: price; a shard returned as many rows as were requested "
                               "of it and may have more")}));
}

TEST(SelectMerge, KeepsTheBestRowsOfAGroup) {
  SelectPlan plan;
  plan.rows.grouped = true;
  plan.rows.group = {{1}};
  plan.rows.folded = {{{2}, Fold::sum}};
  plan.rows.within = {{{0}, true}};
  plan.rows.order = {{{2}, true}, {{1}}};
  const std::vector<std::string> columns = {"id:long", "g:long", "n:long"};
  const auto one =
      raw_reply({raw_set(columns, {R"({"id":9,"g":1,"n":3})", R"({"id":4,"g":1,"n":3})",
                                   R"({"id":5,"g":2,"n":9})"}),
                 meta_set(2)});
  const auto two = raw_reply({raw_set(columns, {R"({"id":7,"g":1,"n":2})"}), meta_set(1)});
  plan.rows.per_group = 2;
  EXPECT_EQ(rows_in(select_merged(plan, {one, two})),
            "{\"id\":5,\"g\":2,\"n\":9},\n{\"id\":9,\"g\":1,\"n\":5},\n{\"id\":7,\"g\":1,"
            "\"n\":5}\n");
  plan.rows.per_group = 1;
  const auto three = raw_reply({raw_set(columns, {R"({"id":8,"g":1,"n":8})"}), meta_set(1)});
  EXPECT_EQ(rows_in(select_merged(plan, {two, three})), "{\"id\":8,\"g\":1,\"n\":10}\n");
}

TEST(SelectMerge, MergesFacetsByTheirOwnPlansAndHidesColumnsWithinThem) {
  auto plan = by_price();
  auto& facet = plan.facets.emplace_back();
  facet.hidden = 1;
  facet.behind = 1;
  facet.facet_name = "brand";
  facet.order = {{{2}, true}, {{0}}};
  facet.limit = 1;
  facet.grouped = true;
  facet.group = {{0}};
  facet.folded = {{{2}, Fold::sum}};
  const std::vector<std::string> columns = {"brand:string", "k:long", "count(*):long"};
  const auto one = raw_reply({raw_set(kIdPrice, {R"({"id":1,"price":2})"}),
                              raw_set(columns, {R"x({"brand":"a","k":1,"count(*)":2})x",
                                                R"x({"brand":"b","k":2,"count(*)":1})x"}),
                              meta_set(1)});
  const auto two =
      raw_reply({raw_set(kIdPrice, {}), raw_set(columns, {R"x({"brand":"b","k":2,"count(*)":7})x"}),
                 meta_set(0)});
  EXPECT_EQ(
      select_merged(plan, {one, two}),
      raw_reply({raw_set(kIdPrice, {R"({"id":1,"price":2})"}),
                 raw_set({"brand:string", "count(*):long"}, {R"x({"brand":"b","count(*)":8})x"})}));
  plan.form = RowForm::hits;
  EXPECT_EQ(
      select_merged(plan, {one, two}),
      R"({"took":0,"timed_out":false,"hits":{"total":1,"total_relation":"eq","hits":[{"_id":1,"_score":1,"_source":{"price":2}}]},"aggregations":{"brand":{"buckets":[{"key":"b","doc_count":8}]}}})");
  plan.form = RowForm::text;
  EXPECT_EQ(
      select_merged(plan, {one, two}, {.warning = "shard 3 failed"}),
      "+----+-------+\n| id | price |\n+----+-------+\n| 1  | 2     |\n+----+-------+\n"
      "1 row in set\n"
      "+-------+----------+\n| brand | count(*) |\n+-------+----------+\n| b     | 8        |\n"
      "+-------+----------+\n1 row in set\nWarning: shard 3 failed\n");
}

TEST(SelectMerge, CountsGroupsOnceAndSaysWhenThereMayBeMore) {
  SelectPlan plan;
  plan.form = RowForm::hits;
  plan.rows.grouped = true;
  plan.rows.per_group = 2;
  plan.rows.limit = 1;
  plan.rows.group = {{1}};
  plan.rows.order = {{{1}}};
  const std::vector<std::string> columns = {"id:long", "g:long"};
  const auto total = [&](std::size_t found_by_one, std::size_t found_by_two) {
    const auto one = raw_reply(
        {raw_set(columns, {R"({"id":1,"g":1})", R"({"id":2,"g":1})", R"({"id":3,"g":2})"}),
         meta_set(found_by_one)});
    const auto two = raw_reply(
        {raw_set(columns, {R"({"id":4,"g":1})", R"({"id":5,"g":3})"}), meta_set(found_by_two)});
    const auto answer = select_merged(plan, {one, two});
    const auto begin = answer.find("\"total\"");
    return answer.substr(begin, answer.find(",\"hits\":[") - begin);
  };
  EXPECT_EQ(total(2, 2), R"("total":3,"total_relation":"eq")");
  EXPECT_EQ(total(2, 9), R"("total":9,"total_relation":"gte")");
  EXPECT_EQ(total(7, 9), R"("total":9,"total_relation":"gte")");
  plan.rows.having = RowCondition{{1}, RowCondition::Is::less, false, {"2"}};
  EXPECT_EQ(total(2, 2), R"("total":1,"total_relation":"eq")");
  EXPECT_EQ(total(7, 9), R"("total":1,"total_relation":"gte")");
}

TEST(SelectMerge, ShowsValuesInsideJsonWithTheirTypeAndTheIdOnce) {
  SelectPlan plan;
  plan.form = RowForm::hits;
  plan.rows.hidden = 1;
  plan.rows.id = ColumnAt{0};
  plan.rows.order = {{{0}}};
  plan.rows.json = {{{1}, {3, false}, {{.member = "n"}}}};
  const auto reply = raw_reply(
      {raw_set({"id:long long", "meta.n:string", "id:long long", "karmad_0:json"},
               {R"({"id":1,"meta.n":"5","id":1,"karmad_0":"{\"n\":5}"})",
                R"({"id":2,"meta.n":"5","id":2,"karmad_0":"{\"n\":\"5\"}"})",
                R"({"id":3,"meta.n":"[1,{\"a\":2}]","id":3,"karmad_0":"{\"n\":[1,{\"a\":2}]}"})",
                R"({"id":4,"meta.n":null,"id":4,"karmad_0":null})"}),
       meta_set(4)});
  EXPECT_EQ(
      select_merged(plan, {reply}),
      R"({"took":0,"timed_out":false,"hits":{"total":4,"total_relation":"eq","hits":[{"_id":1,"_score":1,"_source":{"meta.n":5}},{"_id":2,"_score":1,"_source":{"meta.n":"5"}},{"_id":3,"_score":1,"_source":{"meta.n":[1,{"a":2}]}},{"_id":4,"_score":1,"_source":{"meta.n":null}}]}})");
}

TEST(SelectMerge, WritesOnlyTotalsOfALongShowMeta) {
  const auto long_word = "keyword[0]=" + std::string(kLongestMeta, 'x');
  const auto reply = raw_reply({raw_set(kIdPrice, {}), meta_set(3, {long_word}, "0.002")});
  SelectMeta meta;
  select_merged(by_price(), {reply}, {.warning = "shard 2 failed", .meta = &meta});
  EXPECT_EQ(rows_in(written(meta)),
            R"({"Variable_name":"warning","Value":"shard 2 failed"},
{"Variable_name":"warning","Value":"SHOW META is longer than 64 KiB: only totals"},
{"Variable_name":"total","Value":"0"},
{"Variable_name":"total_found","Value":"3"},
{"Variable_name":"total_relation","Value":"eq"},
{"Variable_name":"time","Value":"0.002"}
)");
}

TEST(SelectMerge, MergesShowMeta) {
  const auto reply = [](std::size_t found, const std::vector<std::string>& more,
                        std::string_view time, std::string_view relation) {
    return raw_reply({raw_set(kIdPrice, {}, found == 3 ? "old \\\"form\\\"" : ""),
                      meta_set(found, more, time, relation)});
  };
  SelectMeta meta{.rows = text_rows({"old"}), .scroll_token = "old"};
  const auto answer = select_merged(
      by_price(),
      {reply(3, {"keyword[0]=a", "docs[0]=4", "hits[0]=5", "cost=7"}, "0.002", "eq"), "",
       reply(4,
             {"keyword[0]=b", "docs[0]=1", "hits[0]=1", "keyword[1]=a", "docs[1]=6", "hits[1]=9"},
             "0.010", "gte")},
      {.warning = "shard 2 failed", .meta = &meta});
  EXPECT_EQ(answer,
            raw_reply({raw_set(kIdPrice, {}, R"(shard 2 failed;\nshard 1: old \"form\")")}));
  std::vector<std::string> rows;
  for (const auto* row :
       {R"(warning","Value":"shard 2 failed;\nshard 1: old \"form\")", R"(total","Value":"0)",
        R"(total_found","Value":"7)", R"(total_relation","Value":"gte)", R"(time","Value":"0.010)",
        R"(cost","Value":"7)", R"(keyword[0]","Value":"a)", R"(docs[0]","Value":"10)",
        R"(hits[0]","Value":"14)", R"(keyword[1]","Value":"b)", R"(docs[1]","Value":"1)",
        R"(hits[1]","Value":"1)", R"(shard[1]_total_found","Value":"3)",
        R"(shard[1]_time","Value":"0.002)", R"(shard[3]_total_found","Value":"4)",
        R"(shard[3]_time","Value":"0.010)"})
    rows.push_back(fmt::format(R"({{"Variable_name":"{}"}})", row));
  EXPECT_EQ(meta.scroll_token, "");
  EXPECT_EQ(written(meta), raw_reply({raw_set({"Variable_name:string", "Value:string"}, rows)}));
}

TEST(SelectMerge, ReadsAReplyInAnyJsonLayout) {
  const std::string compact =
      R"( [ {"columns":[{"id" : {"type":"long long"}},{"price":{"type":"long"}}],"data":[ {"id" : 1, "price":2} ],"total":1,"error":"","warning":""}, {"columns":[{"Variable_name":{"type":"string"}},{"Value":{"type":"string"}}],"data":[{"Variable_name":"total_found","Value":"1"}],"total":1}] )";
  EXPECT_EQ(rows_in(select_merged(by_price(), {compact})), "{\"id\":1,\"price\":2}\n");
}

TEST(SelectMerge, NamesTheShardOfAReplyThatCannotBeRead) {
  const auto good = documents({R"({"id":1,"price":2})"}, 1);
  const auto plan = by_price();
  EXPECT_EQ(select_merged(plan, {good, good + "x"}),
            "bad shard 1: it does not end as a JSON array");
  EXPECT_EQ(select_merged(plan, {good, raw_reply({raw_set(kIdPrice, {})})}),
            "bad shard 1: it is not an array of the result sets that were requested");
  EXPECT_EQ(select_merged(plan, {good, documents({R"({"id":1})"}, 1)}),
            "bad shard 1: a row is malformed");
  EXPECT_EQ(select_merged(plan, {raw_reply({raw_set({"id:long"}, {R"({"id":1})"}), meta_set(1)})}),
            "bad shard 0: its rows lack columns that were requested");
  EXPECT_EQ(select_merged(plan, {raw_reply({raw_set(kIdPrice, {}), raw_set(kIdPrice, {})})}),
            "bad shard 0: its SHOW META is malformed or has no total_found");
  EXPECT_EQ(select_merged(plan, {good, R"([{"total":0,"error":"no field 'x'","warning":""}])"}),
            "bad shard 1: no field 'x'");
}

TEST(SelectMerge, TellsAWarningOfSeveralShardsOnce) {
  const auto reply = [](std::string_view warning) {
    return raw_reply({raw_set(kIdPrice, {}, warning), meta_set(0)});
  };
  const auto told = [&](const std::vector<std::string>& warnings) {
    std::vector<std::string> replies;
    for (const auto& warning : warnings) replies.push_back(reply(warning));
    return select_merged(by_price(), replies);
  };
  const auto expected = [](std::string_view warning) {
    return raw_reply({raw_set(kIdPrice, {}, warning)});
  };
  EXPECT_EQ(told({"use ANY()", "use ANY()"}), expected("use ANY()"));
  EXPECT_EQ(told({"", "a", "b", "a"}), expected(R"(a;\nshard 3: b)"));
  EXPECT_EQ(told({"", "a"}), expected("shard 2: a"));
}

TEST(SelectMerge, WarningsOfShowMetaAreInHitsAndInMetaButNotInRows) {
  const auto reply = raw_reply({raw_set(kIdPrice, {}), meta_set(0, {"warning=use ANY()"})});
  auto plan = by_price();
  SelectMeta meta;
  EXPECT_EQ(select_merged(plan, {reply, reply}, {.warning = "shard 3 failed", .meta = &meta}),
            raw_reply({raw_set(kIdPrice, {}, "shard 3 failed")}));
  EXPECT_EQ(cell_text(meta.rows.row(0)[1]), "shard 3 failed;\nuse ANY()");
  std::vector<ResultSet> sets;
  select_merged(plan, {reply, reply}, {.sets = &sets});
  EXPECT_EQ(sets.at(0).warning, "use ANY()") << "a client of MySQL has it in SHOW WARNINGS";
  plan.form = RowForm::hits;
  EXPECT_TRUE(
      select_merged(plan, {reply, reply}).contains(R"x("warning":{"reason":"use ANY()"})x"));
}

TEST(SelectMerge, TheScoreOfAGroupIsTheWeightOfItsBestRow) {
  const auto score = [](std::string_view statement, RowForm form) {
    return select_planning::planned(statement, form).plan.rows.score.has_value();
  };
  constexpr std::string_view kMatched = "SELECT n, COUNT(*) c FROM t WHERE MATCH('x') GROUP BY n";
  EXPECT_TRUE(score(kMatched, RowForm::hits));
  EXPECT_FALSE(score(kMatched, RowForm::raw));
  EXPECT_FALSE(score("SELECT n, COUNT(*) c FROM t WHERE n=1 GROUP BY n", RowForm::hits));
  const auto plan = select_planning::planned(kMatched, RowForm::hits).plan;
  const auto reply = [](int weight) {
    return raw_reply(
        {raw_set({"n:long", "c:long long", "karmad_0:long", "karmad_1:long long", "karmad_2:long"},
                 {fmt::format(R"({{"n":5,"c":2,"karmad_0":{0},"karmad_1":{0},)"
                              R"("karmad_2":5}})",
                              weight)}),
         meta_set(1)});
  };
  for (const auto& replies : {std::vector{reply(1400), reply(2400)}, {reply(2400), reply(1400)}})
    EXPECT_TRUE(
        select_merged(plan, replies).contains(R"([{"_score":2400,"_source":{"n":5,"c":4}}])"))
        << select_merged(plan, replies);
}

TEST(SelectMerge, HitsHaveBooleansWhereRowsHaveNumbers) {
  auto plan = select_planning::planned("SELECT id, ok, n FROM t ORDER BY id ASC").plan;
  const auto reply = raw_reply({raw_set({"id:long long", "ok:bool", "n:long"},
                                        {R"({"id":7,"ok":0,"n":0})", R"({"id":8,"ok":1,"n":1})"}),
                                meta_set(2)});
  const auto rows = select_merged(plan, {reply, reply});
  EXPECT_TRUE(rows.contains(R"("ok":1,"n":1)")) << rows;
  plan.form = RowForm::hits;
  const auto hits = select_merged(plan, {reply, reply});
  EXPECT_TRUE(hits.contains(R"("_source":{"ok":false,"n":0})")) << hits;
  EXPECT_TRUE(hits.contains(R"("_source":{"ok":true,"n":1})")) << hits;
}

}  // namespace
}  // namespace karmad
