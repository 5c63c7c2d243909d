// The values of one group, or of all documents, in the replies of several shards become one.
#include "tests/agent/dialect/row_replies.hpp"

namespace karmad::select_fold_tests {
namespace {

/// One row for each shard; the columns that the plan names have the types.
std::string folded(SelectPlan plan, const std::vector<std::string>& columns,
                   const std::vector<std::string>& rows) {
  plan.rows.grouped = true;
  std::vector<std::string> replies;
  for (const auto& row : rows) replies.push_back(raw_reply({raw_set(columns, {row}), meta_set(1)}));
  return rows_in(select_merged(plan, replies));
}

std::string mean(const std::vector<std::string>& rows) {
  SelectPlan plan;
  plan.rows.hidden = 2;
  plan.rows.folded = {{{0}, Fold::mean, {1}, ColumnAt{2}}, {{1}, Fold::sum}, {{2}, Fold::sum}};
  return folded(plan, {"m:double", "n:long long", "s:long long"}, rows);
}

TEST(SelectFold, AMeanComesFromTheSumsThatAgreeWithTheMeansOfTheShards) {
  // Two thirds of the documents have 1, the rest 2: the means alone would be off in the last digit.
  EXPECT_EQ(
      mean({R"({"m":1.33333333,"n":300000000,"s":400000000})", R"({"m":1.00000000,"n":1,"s":1})"}),
      "{\"m\":1.33333333}\n");
  EXPECT_EQ(mean({R"({"m":0.00000000,"n":3,"s":0.00000001})",
                  R"({"m":0.00000002,"n":1,"s":0.00000002})"}),
            "{\"m\":0.00000001}\n");
}

TEST(SelectFold, ASumThatWrappedAroundOrHasFewerDigitsThanTheMeanDoesNotCount) {
  EXPECT_EQ(mean({R"({"m":6000000000000000000.00000000,"n":4,"s":5553255926290448384})",
                  R"({"m":1000000000000000000.00000000,"n":1,"s":1000000000000000000})"}),
            "{\"m\":5000000000000000000.00000000}\n");
  EXPECT_EQ(mean({R"({"m":40238.65088997,"n":1000,"s":40238652.000000})",
                  R"({"m":40238.65088995,"n":1000,"s":40238650.000000})"}),
            "{\"m\":40238.65088996}\n");
  EXPECT_EQ(mean({R"({"m":null,"n":0,"s":null})", R"({"m":2.50000000,"n":2,"s":5})"}),
            "{\"m\":2.50000000}\n");
}

TEST(SelectFold, ASumOrMeanThatIsNotFiniteIsNullAndNotThatOfTheFirstShard) {
  SelectPlan plan;
  plan.rows.folded = {{{0}, Fold::sum}};
  const std::string quarter = R"({"s":0.25})";
  const std::string large = R"({"s":3e38})";  // less than the largest float
  const std::string infinite = R"({"s":inf})";
  const std::vector<std::string> columns = {"s:float"};
  for (const auto& rows : std::vector<std::vector<std::string>>{
           {quarter, infinite}, {infinite, quarter}, {quarter, large, large}})
    EXPECT_EQ(folded(plan, columns, rows), "{\"s\":null}\n");
  EXPECT_EQ(mean({R"({"m":2.50000000,"n":2,"s":5})", R"({"m":-inf,"n":3,"s":-inf})"}),
            "{\"m\":null}\n");
}

TEST(SelectFold, MinimumAndMaximumOfStringsAreThoseOfTheCollation) {
  SelectPlan plan;
  plan.rows.folded = {{{0}, Fold::smallest}, {{1}, Fold::largest}};
  const std::vector<std::string> rows = {R"({"lo":"b","hi":"b"})", R"({"lo":"a","hi":"Z"})",
                                         R"({"lo":"C","hi":"y"})", R"({"lo":null,"hi":null})"};
  const std::vector<std::string> columns = {"lo:string", "hi:string"};
  EXPECT_EQ(folded(plan, columns, rows), "{\"lo\":\"a\",\"hi\":\"Z\"}\n");
  plan.collation = Collation::binary;
  EXPECT_EQ(folded(plan, columns, rows), "{\"lo\":\"C\",\"hi\":\"y\"}\n");
  // A shard without documents has a value, too.
  plan.rows.folded.push_back({{2}, Fold::sum});
  EXPECT_EQ(
      folded(plan, {"lo:string", "hi:string", "count(*):long"},
             {R"x({"lo":"","hi":"","count(*)":0})x", R"x({"lo":"q","hi":"r","count(*)":2})x"}),
      "{\"lo\":\"q\",\"hi\":\"r\",\"count(*)\":2}\n");
}

/// `SELECT COUNT(*), COUNT(DISTINCT v) … GROUP BY` a column of several values; the group's number
/// is hidden.
SelectPlan by_tag() {
  SelectPlan plan;
  plan.rows.grouped = true;
  plan.rows.hidden = 1;
  plan.rows.group = {{0}};
  plan.rows.group_number = ColumnAt{3};
  plan.rows.order = {{{3}}};
  plan.rows.folded = {{{1}, Fold::sum}, {{2}, Fold::distinct}};
  plan.pairs = {{.keys = 1, .numbered = true, .asked = 100}};
  return plan;
}

const std::vector<std::string> kTags = {"tags:multi", "n:long long", "d:long long", "g:long long"};
const std::vector<std::string> kTagPairs = {"tags:multi", "v:string"};

TEST(SelectFold, AGroupOfAColumnOfSeveralValuesIsOneOverAllShards) {
  const auto one =
      raw_reply({raw_set(kTags, {R"({"tags":"1,2","n":2,"d":2,"g":1})",
                                 R"({"tags":"1,2","n":1,"d":1,"g":2})"}),
                 meta_set(2),
                 raw_set(kTagPairs, {R"({"tags":"1,2","v":"a"})", R"({"tags":"1","v":"b"})",
                                     R"({"tags":"1,2","v":"a"})"})});
  const auto two = raw_reply(
      {raw_set(kTags, {R"({"tags":"2","n":4,"d":2,"g":2})", R"({"tags":"3,1","n":1,"d":1,"g":1})"}),
       meta_set(2),
       raw_set(kTagPairs, {R"({"tags":"2","v":"A"})", R"({"tags":"2","v":"c"})",
                           R"({"tags":"3,1","v":"b"})", R"({"tags":"","v":"z"})"})});
  EXPECT_EQ(
      select_merged(by_tag(), {one, two}),
      raw_reply({raw_set({"tags:multi", "n:long long", "d:long long"},
                         {R"({"tags":"1,2","n":3,"d":2})", R"({"tags":"1,2","n":5,"d":3})"})}));
}

TEST(SelectFold, TheDifferentValuesOfAColumnOfSeveralValuesAreThoseInItsLists) {
  SelectPlan plan;
  plan.rows.grouped = true;
  plan.rows.folded = {{{0}, Fold::distinct}};
  plan.pairs = {{.keys = 0, .numbered = true, .asked = 100}};
  const auto reply = [](const std::vector<std::string>& lists) {
    return raw_reply(
        {raw_set({"d:long"}, {R"({"d":3})"}), meta_set(1), raw_set({"t:multi64"}, lists)});
  };
  const auto one = reply({R"({"t":"1,-2"})", R"({"t":"1,-2"})", R"({"t":""})"});
  const auto two = reply({R"({"t":"7"})", R"({"t":"1,9007199254740993,9007199254740992"})"});
  EXPECT_EQ(rows_in(select_merged(plan, {one, two})), "{\"d\":5}\n");
}

TEST(SelectFold, GroupsThatPairsCannotTellAreCountedOnceAndEstimated) {
  auto plan = by_tag();
  plan.rows.hidden = 1;
  plan.rows.group = {{0}, {1}};
  plan.rows.group_number = ColumnAt{4};
  plan.rows.order = {{{4}}};
  plan.rows.folded = {{{2}, Fold::sum}, {{3}, Fold::distinct}};
  plan.pairs = {{.keys = 2, .numbered = true, .asked = 100}};
  const std::vector<std::string> columns = {"tags:multi", "brand:string", "n:long", "d:long",
                                            "g:long"};
  const std::vector<std::string> pairs = {"tags:multi", "brand:string", "v:long"};
  const auto reply = [&](int values) {
    std::vector<std::string> rows;
    for (int v = 0; v < values; ++v)
      rows.push_back(fmt::format(R"({{"tags":"1,2","brand":"x","v":{}}})", v));
    const auto row = fmt::format(R"({{"tags":"1,2","brand":"x","n":9,"d":{},"g":77}})", values);
    return raw_reply({raw_set(columns, {row}), meta_set(1), raw_set(pairs, rows)});
  };
  EXPECT_EQ(select_merged(plan, {reply(3), reply(2)}),
            raw_reply({raw_set({"tags:multi", "brand:string", "n:long", "d:long"},
                               {R"({"tags":"1,2","brand":"x","n":18,"d":3})"},
                               "estimated: d; the groups have several keys, one of them with "
                               "several values")}));
}

TEST(SelectFold, GroupsByAFloatThatAreWrittenAlikeAreToldApartByTheirNumbers) {
  auto plan = by_tag();
  const std::vector<std::string> columns = {"x:float", "n:long long", "d:long long", "g:long long"};
  const auto pairs = [](std::string_view values) {
    std::vector<std::string> rows;
    for (const char v : values) rows.push_back(fmt::format(R"({{"x":0.1,"v":"{}"}})", v));
    return raw_set({"x:float", "v:string"}, rows);
  };
  const auto one = raw_reply(
      {raw_set(columns, {R"({"x":0.1,"n":2,"d":2,"g":11})", R"({"x":0.1,"n":1,"d":1,"g":12})"}),
       meta_set(2), pairs("abc")});
  const auto two =
      raw_reply({raw_set(columns, {R"({"x":0.1,"n":4,"d":1,"g":12})"}), meta_set(1), pairs("d")});
  EXPECT_EQ(rows_in(select_merged(plan, {one, two})),
            "{\"x\":0.1,\"n\":2,\"d\":2},\n{\"x\":0.1,\"n\":5,\"d\":2}\n");
}

TEST(SelectFold, AFacetByAColumnOfSeveralValuesSaysThatItIsAnEstimate) {
  SelectPlan plan;
  plan.rows.grouped = true;
  plan.rows.group = {{0}};
  plan.rows.folded = {{{1}, Fold::sum}};
  const std::vector<std::string> columns = {"tags:multi", "n:long"};
  const auto reply = raw_reply({raw_set(columns, {R"({"tags":"1,2","n":3})"}), meta_set(1)});
  EXPECT_NE(select_merged(plan, {reply, reply})
                .find("estimated: n; the facet is BY an attribute with several values"),
            std::string::npos);
}

TEST(SelectFold, StringsInsideJsonAreGroupsByTheirCaseWhateverTheirColumnsAreCalled) {
  SelectPlan plan;
  plan.rows.grouped = true;
  plan.rows.group = {{0}, {1}};
  plan.rows.exact = {true, false};
  plan.rows.folded = {{{2}, Fold::sum}, {{3}, Fold::distinct}};
  plan.rows.order = {{{2}, true}};
  plan.pairs = {{.keys = 2, .asked = 100, .exact = {true, false}}};
  const std::vector<std::string> columns = {"unit:string", "town:string", "n:long", "d:long"};
  const std::vector<std::string> pairs = {"unit:string", "town:string", "v:string"};
  const auto one = raw_reply({raw_set(columns, {R"({"unit":"Kg","town":"Ulm","n":9,"d":1})",
                                                R"({"unit":"kg","town":"Ulm","n":3,"d":2})"}),
                              meta_set(2),
                              raw_set(pairs, {R"({"unit":"Kg","town":"Ulm","v":"a"})",
                                              R"({"unit":"kg","town":"Ulm","v":"a"})",
                                              R"({"unit":"kg","town":"Ulm","v":"b"})"})});
  const auto two =
      raw_reply({raw_set(columns, {R"({"unit":"kg","town":"ULM","n":4,"d":1})"}), meta_set(1),
                 raw_set(pairs, {R"({"unit":"kg","town":"ULM","v":"c"})"})});
  EXPECT_EQ(rows_in(select_merged(plan, {one, two})),
            "{\"unit\":\"Kg\",\"town\":\"Ulm\",\"n\":9,\"d\":1},\n"
            "{\"unit\":\"kg\",\"town\":\"Ulm\",\"n\":7,\"d\":3}\n");
}

// SS-104: a missing value is none, as on one server.
TEST(SelectFold, AMissingValueInsideJsonIsNoDistinctValue) {
  SelectPlan plan;
  plan.rows.grouped = true;
  plan.rows.group = {{0}};
  plan.rows.folded = {{{1}, Fold::distinct}};
  plan.rows.order = {{{0}}};
  plan.pairs = {{.keys = 1, .asked = 100}};
  const std::vector<std::string> columns = {"shop:string", "d:long"};
  const std::vector<std::string> pairs = {"shop:string", "m.size:string"};
  const auto one =
      raw_reply({raw_set(columns, {R"({"shop":"a","d":1})", R"({"shop":"b","d":0})"}), meta_set(2),
                 raw_set(pairs, {R"({"shop":"a","m.size":"5"})", R"({"shop":"a","m.size":null})",
                                 R"({"shop":"b","m.size":null})"})});
  const auto two =
      raw_reply({raw_set(columns, {R"({"shop":"a","d":2})", R"({"shop":"b","d":0})"}), meta_set(2),
                 raw_set(pairs, {R"({"shop":"a","m.size":"null"})", R"({"shop":"a","m.size":""})",
                                 R"({"shop":"b","m.size":null})"})});
  EXPECT_EQ(rows_in(select_merged(plan, {one, two})),
            "{\"shop\":\"a\",\"d\":3},\n{\"shop\":\"b\",\"d\":0}\n");
}

TEST(SelectFold, ACountOfDistinctValuesKeepsTheRowOverNothing) {
  SelectPlan plan;
  plan.rows.grouped = true;
  plan.rows.hidden = 1;
  plan.rows.folded = {{{0}, Fold::distinct}, {{1}, Fold::mean, {2}}, {{2}, Fold::sum}};
  plan.pairs = {{.asked = 100}};
  const auto nothing =
      raw_reply({raw_set({"d:long", "m:double", "n:long"}, {R"({"d":0,"m":null,"n":0})"}),
                 meta_set(0), raw_set({"v:long"}, {})});
  EXPECT_EQ(rows_in(select_merged(plan, {nothing, nothing})), "{\"d\":0,\"m\":null}\n");
}

}  // namespace
}  // namespace karmad::select_fold_tests
