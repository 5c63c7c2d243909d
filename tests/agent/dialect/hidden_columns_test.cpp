// A mirror that leaves out hidden columns gives a wrong reply: the columns in their places are the
// client's, and are neither ids nor sort keys.
#include "tests/agent/dialect/row_replies.hpp"
#include "tests/agent/dialect/select_planning.hpp"

namespace karmad {
namespace {

using select_planning::planned;

constexpr std::string_view kWrong = "bad shard 1: its rows lack columns that were requested";

/// The columns that a plan hides; the shards have them behind those that the client wants.
std::vector<std::string> with_hidden(std::vector<std::string> columns, const RowPlan& rows) {
  const auto place = columns.end() - static_cast<std::ptrdiff_t>(rows.behind);
  std::vector<std::string> hidden;
  for (const auto& name : rows.hidden_names) hidden.push_back(name + ":long long");
  columns.insert(place, hidden.begin(), hidden.end());
  return columns;
}

std::string row_of(const std::vector<std::string>& columns) {
  std::string row;
  for (const auto& column : columns)
    row += fmt::format("{}\"{}\":7", row.empty() ? "{" : ",", column.substr(0, column.rfind(':')));
  return row + "}";
}

std::string one_row(const std::vector<std::string>& columns) {
  return raw_set(columns, {row_of(columns)});
}

struct HiddenCase {
  std::string_view statement;
  std::vector<std::string> columns;
};

TEST(SelectColumns, NoneInCommonMakeAFacetWrong) {
  for (const auto* facet :
       {"brand", "meta.color", "n, meta['x']", "a BY b ORDER BY COUNT(*) DESC"}) {
    const auto plan = planned(fmt::format("SELECT id FROM t ORDER BY id ASC FACET {}", facet)).plan;
    const auto reply = [](const std::vector<std::string>& columns) {
      return raw_reply({one_row({"id:long long"}), one_row(columns), meta_set(1)});
    };
    EXPECT_EQ(select_merged(plan, {reply({"a:long", "b:string"}), reply({"c:long", "d:string"})}),
              "bad shard 0: its rows lack columns that were requested")
        << facet;
  }
}

TEST(SelectHiddenColumns, LeftOutOrRenamedMakeAReplyWrong) {
  const std::vector<HiddenCase> cases = {
      {"SELECT * FROM t", {"id:long long", "n:long", "m:long", "o:long"}},
      {"SELECT n, m, o FROM t", {"n:long", "m:long", "o:long"}},
      {"SELECT n, m FROM t ORDER BY p ASC", {"n:long", "m:long"}},
      {"SELECT n, m, o, p, COUNT(*) FROM t GROUP BY n",
       {"n:long", "m:long", "o:long", "p:long", "count(*):long long"}},
  };
  for (const auto& [statement, columns] : cases) {
    const auto plan = planned(statement).plan;
    ASSERT_FALSE(plan.rows.hidden_names.empty()) << statement;
    ASSERT_EQ(plan.rows.hidden_names.size(), plan.rows.hidden) << statement;
    const auto asked = with_hidden(columns, plan.rows);
    const auto whole = raw_reply({one_row(asked), meta_set(1)});
    EXPECT_FALSE(select_merged(plan, {whole, whole}).starts_with("bad")) << statement;
    for (auto left_out = columns.size(); left_out < asked.size(); ++left_out) {
      auto fewer = asked;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(left_out));
      EXPECT_EQ(select_merged(plan, {whole, raw_reply({one_row(fewer), meta_set(1)})}), kWrong)
          << statement;
      auto renamed = asked;
      renamed[left_out] = "x:long long";
      EXPECT_EQ(select_merged(plan, {whole, raw_reply({one_row(renamed), meta_set(1)})}), kWrong)
          << statement;
    }
    EXPECT_EQ(select_merged(plan, {whole, raw_reply({one_row(columns), meta_set(1)})}), kWrong)
        << statement;
  }
}

TEST(SelectHiddenColumns, OfFacetsStandBeforeTheirCounts) {
  const auto plan = planned("SELECT id FROM t ORDER BY id ASC FACET n, m BY o").plan;
  const auto& facet = plan.facets.front();
  ASSERT_EQ(facet.hidden_names.size(), facet.hidden);
  const auto rows = one_row(with_hidden({"id:long long"}, plan.rows));
  const std::vector<std::string> columns = {"n:long", "m:long", "count(*):long long"};
  const auto whole = raw_reply({rows, one_row(with_hidden(columns, facet)), meta_set(1)});
  EXPECT_FALSE(select_merged(plan, {whole, whole}).starts_with("bad"));
  EXPECT_EQ(select_merged(plan, {whole, raw_reply({rows, one_row(columns), meta_set(1)})}), kWrong);
}

}  // namespace
}  // namespace karmad
