// A karmad as side-car of each engine, and one in front that selects among them by the state of
// their engines.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "tests/support/role_set.hpp"

namespace karmad::test {
namespace {

/// Both levels ping often: the front knows a change of an engine after at most twice 500 ms.
std::string beside(const DemoAgent& engine) {
  return table_of({line_of({engine.address()})}, "ping_type = native");
}

std::string in_front_of(const std::vector<const Master*>& sidecars, const std::string& settings) {
  std::vector<std::string> addresses;
  for (const auto* sidecar : sidecars)
    addresses.push_back(fmt::format("127.0.0.1:{}:t", sidecar->port()));
  return table_of({fmt::format("{}", fmt::join(addresses, "|"))},
                  "ping_type = native\n " + settings);
}

class SideCars : public testing::Test {
 protected:
  DemoAgent a = copy_of_all("replica", "dc:ny");
  DemoAgent b = copy_of_all("replica", "dc:sf,rack:2");
  RestingMaster by_a{choosing(), beside(a)};
  RestingMaster by_b{choosing(), beside(b)};

  void SetUp() override {
    ASSERT_TRUE(by_a.shows({"replica"}));
    ASSERT_TRUE(by_b.shows({"replica"}));
  }
};

TEST_F(SideCars, RepeatTheStateOfTheirEngine) {
  a.control("generation=12&set=books");
  ASSERT_TRUE(eventually([&] { return by_a.number_of(0, "generation") == 12; }));
  const auto told = get(by_a.port(), "/hello");
  EXPECT_EQ(told.status, 200);
  EXPECT_EQ(at(told.body, "/ok"), "true");
  EXPECT_EQ(at(told.body, "/role"), "replica");
  EXPECT_EQ(at(told.body, "/tags"), R"({"dc":"ny"})");
  EXPECT_EQ(at(told.body, "/set"), "books");
  EXPECT_EQ(at(told.body, "/generation"), "12");
  EXPECT_NE(at(told.body, "/last_write_ms"), "");
  EXPECT_EQ(at(told.body, "/me"), "") << "that is the engine's own address";
}

TEST_F(SideCars, AreChosenByTheTagsOfTheirEngines) {
  const RestingMaster front(choosing(), in_front_of({&by_a, &by_b},
                                                    "read_preference = secondary\n"
                                                    " tag_sets = dc:sf|"));
  ASSERT_TRUE(front.shows({"replica", "replica"}));
  EXPECT_EQ(front.word("/tables/0/shards/0/kind"), "roles");
  EXPECT_EQ(front.word_of(1, "tags"), "dc:sf,rack:2");
  EXPECT_EQ(front.spread(10), (std::vector{0, 10}));
  EXPECT_EQ(front.spread(10, "mode=nearest;tags=dc:ny"), (std::vector{10, 0}));
  EXPECT_EQ(a.number("/requests/search"), 10);
  EXPECT_EQ(b.number("/requests/search"), 10);
  a.control("role=primary");
  ASSERT_TRUE(front.shows({"primary", "replica"}));
  EXPECT_EQ(front.spread(10, "primary"), (std::vector{10, 0}));
}

TEST_F(SideCars, ShowThatTheirEngineDrainsOrIsGone) {
  const RestingMaster front(choosing(), in_front_of({&by_a, &by_b}, "read_preference = nearest"));
  ASSERT_TRUE(front.shows({"replica", "replica"}));
  a.control("draining=1");
  ASSERT_TRUE(front.shows({"other", "replica"}));
  EXPECT_TRUE(front.word_of(0, "unsuitable").contains("draining"))
      << front.word_of(0, "unsuitable");
  EXPECT_EQ(front.spread(10), (std::vector{0, 10}));
  a.control("draining=0");
  ASSERT_TRUE(front.shows({"replica", "replica"}));
  b.process().kill();
  ASSERT_TRUE(front.shows({"replica", "unknown"}));
  EXPECT_EQ(get(by_b.port(), "/hello").status, 503);
  EXPECT_EQ(front.spread(10), (std::vector{10, 0}));
}

TEST_F(SideCars, DrainWhenTheyEndThemselves) {
  const RestingMaster front(choosing(), in_front_of({&by_a, &by_b}, "read_preference = nearest"));
  ASSERT_TRUE(front.shows({"replica", "replica"}));
  by_b.process().signal(SIGTERM);
  ASSERT_TRUE(front.shows({"replica", "unknown"}));
  EXPECT_EQ(front.spread(10), (std::vector{10, 0}));
  EXPECT_EQ(by_b.process().wait(), 0) << by_b.process().output();
}

TEST(SideCar, OfManyMirrorsIsARouter) {
  const auto a = copy_of_all("primary");
  const auto b = copy_of_all("replica");
  const RestingMaster master(choosing(),
                             table_of({line_of({a.address(), b.address()})}, "ping_type = native"));
  ASSERT_TRUE(master.shows({"primary", "replica"}));
  const auto told = get(master.port(), "/hello");
  EXPECT_EQ(told.status, 200);
  EXPECT_EQ(at(told.body, "/role"), "router");
  const RestingMaster front(choosing(), in_front_of({&master, &master}, ""));
  ASSERT_TRUE(front.shows({"router", "router"}));
  EXPECT_EQ(front.find("primary").status, 200);
}

}  // namespace
}  // namespace karmad::test
