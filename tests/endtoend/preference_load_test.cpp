// A slow mirror gets less, and its share back (SS-182).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/load.hpp"
#include "tests/support/role_set.hpp"

namespace karmad::test {
namespace {

class TwoChoices : public testing::TestWithParam<std::string> {
 protected:
  /// The part of the first mirror in the next `queries` answers of ten clients.
  static double share(const RestingMaster& master, std::size_t queries) {
    const auto attempts = [&](std::size_t mirror) {
      return master.number_of(mirror, "since_start/attempts");
    };
    const auto first = attempts(0);
    const auto second = attempts(1);
    Load load(master.port(), 10, expecting_200(std::string(kFindAll)));
    EXPECT_TRUE(load.more(queries));
    load.stop();
    EXPECT_EQ(load.wrong(), "");
    const auto asked = attempts(0) - first;
    return asked / (asked + attempts(1) - second);
  }
};

TEST_P(TwoChoices, LeaveASlowMirrorAloneAndSplitEvenlyWhenItIsLikeTheOther) {  // SS-182
  const auto slow = copy_of_all("standalone");
  const auto fast = copy_of_all("standalone");
  const RestingMaster master(
      "workers = 2\n ha_ping_interval = 500ms\n ping_timeout = 20s\n local_threshold = 30s\n"
      " agent_connect_timeout = 20s\n agent_query_timeout = 20s\n request_timeout = 30s",
      table_of({line_of({slow.address(), fast.address()})}, GetParam()));
  ASSERT_TRUE(master.shows({"router", "router"}));
  slow.control("latency=fixed:500");
  const auto while_slow = share(master, 100);
  EXPECT_GT(while_slow, 0);
  EXPECT_LT(while_slow, 0.25);
  // Equal again, also on a busy machine: a disturbance may bend one measurement, but not all.
  slow.control("latency=fixed:5");
  fast.control("latency=fixed:5");
  double when_alike = 0;
  EXPECT_TRUE(eventually([&] {
    when_alike = share(master, 1000);
    return std::abs(when_alike - 0.5) <= 0.1;
  })) << when_alike;
}

INSTANTIATE_TEST_SUITE_P(, TwoChoices,
                         testing::Values("ha_strategy = leastops", "read_preference = nearest"),
                         [](const auto& test) {
                           return std::string(test.index == 0 ? "AsStrategy" : "ByPreference");
                         });

// SS-010, SS-155: the pings' round trips narrow what is chosen from, where a preference is given.
TEST(Window, LeavesOutMirrorsBeyondTheThreshold) {
  const auto near = copy_of_all("standalone");
  const auto far = copy_of_all("standalone");
  const auto lines = std::vector{line_of({near.address(), far.address()})};
  far.control("latency=fixed:1500");
  const auto settings =
      "workers = 1\n ha_ping_interval = 500ms\n ping_timeout = 20s\n local_threshold = 700ms\n"
      " agent_connect_timeout = 20s\n agent_query_timeout = 20s\n request_timeout = 30s";
  const RestingMaster master(settings, table_of(lines, "read_preference = nearest"));
  ASSERT_TRUE(master.shows({"router", "router"}));
  EXPECT_GT(master.number_of(1, "rtt_ms"), 1400);
  EXPECT_EQ(master.spread(20), (std::vector{20, 0}));
  EXPECT_EQ(master.number_of(1, "probability"), 0);
}

}  // namespace
}  // namespace karmad::test
