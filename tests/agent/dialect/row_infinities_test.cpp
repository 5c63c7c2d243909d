// Values that JSON does not have, in the rows of shards.
#include "agent/dialect/manticore_sql/select/select_fan_out.hpp"
#include "tests/agent/dialect/row_replies.hpp"

namespace karmad {
namespace {

TEST(SelectFanOut, OrdersInfinitiesAsSuchAndShowsNullBecauseClientsCanComputeThem) {
  const auto plan = make_select_fan_out("select id, price*1e38 x from t order by x desc",
                                        RowForm::raw, {}, {}, 2);
  ASSERT_TRUE(plan);
  const std::vector<std::string> columns = {"id:long long", "x:float"};
  const auto one =
      raw_reply({raw_set(columns, {R"({"id":1,"x":inf})", R"({"id":3,"x":-inf})"}), meta_set(2)});
  const auto two = raw_reply({raw_set(columns, {R"({"id":2,"x":7.5})"}), meta_set(1)});
  const std::vector<ShardReply> replies{{one}, {two}};
  std::string out;
  const auto bad = (*plan)->merge(replies, {}, out);
  EXPECT_FALSE(bad) << bad->reason;
  EXPECT_EQ(out, raw_reply({raw_set(columns, {R"({"id":1,"x":null})", R"({"id":2,"x":7.5})",
                                              R"({"id":3,"x":null})"})}));
}

}  // namespace
}  // namespace karmad
