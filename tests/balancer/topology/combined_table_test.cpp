#include <gtest/gtest.h>

#include "agent/dialect/kinds/dialects.hpp"
#include "tests/balancer/topology/built.hpp"

namespace karmad {
namespace {

constexpr const char* kThreeTables =
    "table one { type = distributed\n agent = a:1:x\n agent = b:1:x\n agent_query_timeout = 7s\n "
    "}\n"
    "table two { type = distributed\n agent = c:1:y\n agent = a:1:x\n partial_results = deny\n }\n"
    "table web { type = distributed\n agent = d:1\n dialect = http\n route = /\n }\n";

TEST(CombinedTable, HasTheShardsOfItsTablesWithoutThoseOfTheSameMirrors) {
  Built built;
  const auto topology = built.build(kThreeTables);
  ASSERT_TRUE(topology);
  const auto combined = topology->combined("two, one,TWO", kManticore);
  ASSERT_TRUE(combined) << combined.error().reason;
  const auto& table = **combined;
  EXPECT_EQ(table.name, "two,one");
  ASSERT_EQ(table.shards.size(), 3U);
  EXPECT_EQ(table.shards[0], topology->find("two")->shards[0]);
  EXPECT_EQ(table.shards[1], topology->find("two")->shards[1]);
  EXPECT_EQ(table.shards[2], topology->find("one")->shards[1]);
  EXPECT_EQ(table.members.size(), 2U);
  EXPECT_EQ(table.tally, topology->find("two")->tally);
  EXPECT_EQ(*combined, *topology->combined("two,one", kManticore));  // made once
}

TEST(CombinedTable, HasTheSettingsOfTheFirstButTheStrictestPartialResults) {
  Built built;
  const auto topology = built.build(kThreeTables);
  ASSERT_TRUE(topology);
  const auto combined = topology->combined("_all", kManticore);
  ASSERT_TRUE(combined) << combined.error().reason;
  EXPECT_EQ((*combined)->name, "one,two");
  EXPECT_EQ((*combined)->timeouts.query, std::chrono::seconds(7));
  EXPECT_EQ((*combined)->partial_results, PartialResults::deny);
}

TEST(CombinedTable, OfOneTableIsThatTableAndUnknownNamesAreTold) {
  Built built;
  const auto topology = built.build(kThreeTables);
  ASSERT_TRUE(topology);
  const auto one = topology->combined("one,o*", kManticore);
  ASSERT_TRUE(one);
  EXPECT_EQ(one->get(), topology->find("one"));
  const auto unknown = topology->combined("one,nosuch", kManticore);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().status, 404);
  for (int i = 0; i < 200; ++i)  // the tables that are kept have a bound
    ASSERT_TRUE(topology->combined(i % 2 == 0 ? "one,two" : "two,one", kManticore));
}

}  // namespace
}  // namespace karmad
