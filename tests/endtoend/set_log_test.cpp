// The log lines about mirrors that fail and recover, and about retries.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <optional>

#include "tests/support/fake_set.hpp"

namespace karmad::test {
namespace {

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != text.npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

std::string pinging(const std::string& more = {}) {
  return "workers = 4\n ha_ping_interval = 100ms\n ping_timeout = 10s\n "
         "agent_connect_timeout = 20s\n agent_query_timeout = 20s\n " +
         more;
}

// Without searches: pings are sufficient.
TEST(TheLog, ReportsOnceThatIdleMirrorsAreDownThatNoneIsLeftAndThatTheyAreUp) {
  std::optional<DemoAgent> a{std::in_place, "0/1", "a", 0, 50};
  std::optional<DemoAgent> b{std::in_place, "0/1", "b", 0, 50};
  const auto port_a = a->port();
  const auto port_b = b->port();
  const auto named = [](int port) {
    return fmt::format("table t, shard 1: mirror 127.0.0.1:{} is ", port);
  };
  RestingMaster master(pinging(), table_of({line_of({a->address(), b->address()})}));
  ASSERT_TRUE(master.ready());
  auto& log = master.process();
  a.reset();
  const auto first = log.wait_for(named(port_a) + "dead, was ");
  ASSERT_TRUE(first) << log.output();
  EXPECT_TRUE(first->contains(" warning ") && first->contains("; 1 of 2 mirrors are left"))
      << *first;
  b.reset();
  const auto last = log.wait_for(named(port_b) + "dead, was ");
  ASSERT_TRUE(last) << log.output();
  EXPECT_TRUE(last->contains(" error ") && last->contains("; no mirror is left")) << *last;
  a.emplace("0/1", "a", port_a, 50);
  const auto back = log.wait_for(named(port_a) + "ready, was dead; 1 of 2");
  ASSERT_TRUE(back) << log.output();
  EXPECT_TRUE(back->contains(" warning ")) << *back;
  b.emplace("0/1", "b", port_b, 50);
  const auto all = log.wait_for(named(port_b) + "ready, was dead; 2 of 2 mirrors are left");
  ASSERT_TRUE(all) << log.output();
  EXPECT_TRUE(all->contains(" info ")) << *all;
  EXPECT_EQ(count_of(log.output(), "is dead"), 2u) << log.output();
  EXPECT_EQ(count_of(log.output(), "is ready"), 2u) << log.output();
}

// Errors of queries on four workers make one line in the log.
TEST(TheLog, ReportsOnceThatAMirrorWithOnlyErrorsIsDown) {
  FakeSet set(2);
  set[0].react(always(json(R"({"error":"internal error"})", 500)));
  RestingMaster master("workers = 4\n ha_ping_interval = 0\n ha_strategy = roundrobin",
                       set.table());
  for (int i = 0; i < 40; ++i) EXPECT_EQ(master.find().status, 200);
  auto& log = master.process();
  ASSERT_TRUE(log.wait_for("is dead, was ")) << log.output();
  for (int i = 0; i < 40; ++i) EXPECT_EQ(master.find().status, 200);
  set[0].react(always(nothing_found()));
  for (int i = 0; i < 40; ++i) EXPECT_EQ(master.find().status, 200);
  ASSERT_TRUE(log.wait_for("is ready, was ")) << log.output();
  EXPECT_EQ(count_of(log.output(), "is dead"), 1u) << log.output();
  EXPECT_EQ(count_of(log.output(), "is ready"), 1u) << log.output();
}

// BP-031
TEST(TheLog, HasALineOfEachRetryWithItsNextMirror) {
  FakeSet set(2);
  set[0].react(always(json(R"({"error":"internal error"})", 500)));
  RestingMaster master(taking_turns(), set.table());
  for (int i = 0; i < 2; ++i) EXPECT_EQ(master.find().status, 200);
  const auto line = master.process().wait_for("table t, shard 1: attempt 2 (retry)");
  ASSERT_TRUE(line);
  EXPECT_TRUE(line->contains(" info ")) << *line;
  EXPECT_TRUE(
      line->contains(fmt::format("at {} after a pause of 0 ms; {} failed: \"internal error\"",
                                 set[1].address(), set[0].address())))
      << *line;
}

TEST(TheLog, HasNoMoreThanTenLinesOfRetriesASecondFromEachWorker) {
  const auto lines_of_300 = [](const std::string& level) {
    FakeSet set(2);
    set[0].react(always(json(R"({"error":"internal error"})", 500)));
    RestingMaster master(taking_turns(level), set.table());
    const auto began = std::chrono::steady_clock::now();
    for (int i = 0; i < 300; ++i) EXPECT_EQ(master.find().status, 200);
    const auto took = std::chrono::steady_clock::now() - began;
    EXPECT_GE(master.count("agent_retry"), 100);
    master.process().signal(SIGTERM);
    EXPECT_EQ(master.process().wait(), 0);
    const auto lines = count_of(master.process().output(), ": attempt ");
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(took).count();
    return std::pair(lines, static_cast<std::size_t>(10 * (seconds + 1)));
  };
  const auto [few, bound] = lines_of_300("");
  EXPECT_LE(few, bound);
  EXPECT_GE(few, 1u);
  EXPECT_GE(lines_of_300("log_level = debug").first, 100u);
}

}  // namespace
}  // namespace karmad::test
