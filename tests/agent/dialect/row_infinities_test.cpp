// Values that JSON does not have, in the rows of shards.
#include "agent/dialect/kinds/dialects.hpp"
#include "agent/dialect/plan/plan.hpp"
#include "agent/dialect/replies/infinities.hpp"
#include "tests/agent/dialect/row_replies.hpp"

namespace karmad {
namespace {

TEST(SelectOfShards, OrdersInfinitiesAsSuchAndShowsNullBecauseClientsCanComputeThem) {
  const auto dialect = make_manticore_sql({});
  const ClientRequest request{"POST", "/sql", "mode=raw", "text/plain",
                              "select id, price*1e38 x from t order by x desc"};
  const auto parsed = dialect->parse(request);
  ASSERT_TRUE(parsed);
  const auto plan = dialect->plan(request, *parsed, 2);
  ASSERT_TRUE(plan);
  const std::vector<std::string> columns = {"id:long long", "x:float"};
  const auto one =
      raw_reply({raw_set(columns, {R"({"id":1,"x":inf})", R"({"id":3,"x":-inf})"}), meta_set(2)});
  const auto two = raw_reply({raw_set(columns, {R"({"id":2,"x":7.5})"}), meta_set(1)});
  const std::vector<ShardReply> replies{{one}, {two}};
  std::string out;
  const auto bad = merge(*plan, replies, {}, out);
  EXPECT_FALSE(bad) << bad->reason;
  EXPECT_EQ(out, raw_reply({raw_set(columns, {R"({"id":1,"x":null})", R"({"id":2,"x":7.5})",
                                              R"({"id":3,"x":null})"})}));
}

TEST(SelectOfShards, OrdersGroupsByInfiniteSumsAsSuch) {
  SelectPlan plan;
  plan.rows.grouped = true;
  plan.rows.group = {{0}};
  plan.rows.folded = {{{1}, Fold::sum}};
  plan.rows.order = {{{1}, true}, {{0}}};
  const std::vector<std::string> columns = {"g:long", "s:float"};
  const auto reply = [&](const std::vector<std::string>& rows) {
    return raw_reply({raw_set(columns, rows), meta_set(rows.size())});
  };
  const auto one = reply({R"({"g":1,"s":-inf})", R"({"g":2,"s":7.5})", R"({"g":3,"s":inf})"});
  const auto two = reply({R"({"g":1,"s":2.5})", R"({"g":2,"s":1.5})", R"({"g":3,"s":-9.5})"});
  EXPECT_EQ(rows_in(select_merged(plan, {one, two})),
            "{\"g\":3,\"s\":null},\n{\"g\":2,\"s\":9.0},\n{\"g\":1,\"s\":null}\n");
}

TEST(Infinities, AreWordsThatEndWhereTheyEnd) {
  EXPECT_EQ(without_infinities(R"({"a":inf,"b":[-inf,nan ],"c":-nan})"),
            R"({"a":1e999,"b":[-1e999,1e999 ],"c":1e999})");
  for (const std::string_view none :
       {R"({"a":nan2})", R"({"a":inf7})", R"({"a":-inf5})", R"({"a":infinity})", R"({"a":nan(1)})",
        R"({"a":"x,inf"})", R"({"a":nan"})", R"({"a":--inf})", R"({"a":INF})"})
    EXPECT_FALSE(without_infinities(none)) << none;
  std::string out = R"(x {"a":1e999,"b":[-1e999,1e9992],"c":"d :1e999","e":1e999.5})";
  end_infinities(out, 2);
  EXPECT_EQ(out, R"(x {"a":null,"b":[null,1e9992],"c":"d :1e999","e":1e999.5})");
}

}  // namespace
}  // namespace karmad
