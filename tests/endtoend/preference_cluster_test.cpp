// The search server's replication status decides which mirrors are searched.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/role_set.hpp"

namespace karmad::test {
namespace {

class Cluster : public testing::Test {
 protected:
  DemoAgent a = copy_of_all("standalone");
  DemoAgent b = copy_of_all("standalone");

  std::string table(const std::string& settings = {}) const {
    return table_of({line_of({a.address(), b.address()})}, "ping_type = manticore\n " + settings);
  }
};

TEST_F(Cluster, AMirrorOutOfItsClusterGetsNoReadsThoughItAnswers) {
  for (auto* agent : {&a, &b}) agent->control("cluster_state=synced&set=books");
  const RestingMaster master(choosing(), table());
  ASSERT_TRUE(master.shows({"router", "router"}));
  EXPECT_EQ(master.word("/tables/0/shards/0/kind"), "flat");
  for (const std::string state : {"joining", "non_primary"}) {
    SCOPED_TRACE(state);
    a.control("cluster_state=" + state);
    ASSERT_TRUE(master.shows({"other", "router"}));
    EXPECT_TRUE(master.word_of(0, "unsuitable").contains("cluster books"))
        << master.word_of(0, "unsuitable");
    EXPECT_EQ(master.spread(20), (std::vector{0, 20}));
    const auto answer =
        post(a.port(), "/search", R"({"table":"products","query":{"match_all":{}}})");
    EXPECT_EQ(answer.status, 200) << "it would have answered";
    a.control("cluster_state=synced");
    ASSERT_TRUE(master.shows({"router", "router"}));
    EXPECT_GT(master.spread(40)[0], 0);
  }
  a.control("cluster_state=donor");
  const auto pings = a.number("/requests/sql");
  ASSERT_TRUE(eventually([&] { return a.number("/requests/sql") >= pings + 2; }));
  EXPECT_EQ(master.word_of(0, "role"), "router");
  EXPECT_GT(master.spread(40)[0], 0);
}

TEST_F(Cluster, TheGenerationIsShownAndWithoutAClusterEverybodyServes) {
  a.control("cluster_state=synced&generation=41");
  const RestingMaster master(choosing(), table("read_preference = nearest"));
  ASSERT_TRUE(master.shows({"router", "router"}));
  EXPECT_EQ(master.number_of(0, "generation"), 41);
  for (const auto attempts : master.spread(40)) EXPECT_GT(attempts, 0);
}

TEST_F(Cluster, WithoutAnAvailableMirrorASearchWaitsAndFailsWithTheReason) {  // SS-170
  for (auto* agent : {&a, &b}) agent->control("cluster_state=non_primary&set=books");
  const RestingMaster master(choosing(), table());
  ASSERT_TRUE(master.shows({"other", "other"}));
  const auto answer = master.find({}, "X-Timeout-Ms: 300\r\n");
  EXPECT_EQ(answer.status, 503) << answer.body;
  EXPECT_EQ(at(answer.body, "/error/type"), "selection_timeout");
  EXPECT_EQ(at(answer.body, "/error/mirrors/1/last_error"), "cluster books is non_primary");
  auto search = Pending::search(master, "nearest");
  ASSERT_TRUE(master.has_waiting(1));
  b.control("cluster_state=synced");
  EXPECT_EQ(search.answer().status, 200);
}

}  // namespace
}  // namespace karmad::test
