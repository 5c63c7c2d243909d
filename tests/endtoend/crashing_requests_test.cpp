// A request that crashes mirrors is not sent to all of them (issue point 0.6, docs/decisions/043).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/support/fake_set.hpp"

namespace karmad::test {
namespace {

constexpr std::string_view kDeadly = R"({"table":"t","query":{"match":{"*":"deadly"}}})";

FakeMirror::React ends_with(Reaction::Then then) {
  return [then](const std::string& request) {
    return request.contains("deadly") ? Reaction{"", then} : nothing_found();
  };
}

std::size_t asked_for_it(const FakeMirror& mirror) {
  const auto seen = mirror.seen();
  return static_cast<std::size_t>(std::ranges::count_if(
      seen, [](const std::string& request) { return request.contains("deadly"); }));
}

constexpr std::string_view kCalm =
    "agent_connect_timeout = 20s\n agent_query_timeout = 20s\n "
    "request_timeout = 1m";

TEST(DeadlyRequest, IsNotSentToAThirdMirrorAndItsRepetitionsToNone) {
  for (const std::string strategy : {"random", "nodeads", "roundrobin", "adaptive"})
    for (const bool preferred : {false, true}) {
      SCOPED_TRACE(fmt::format("{} {}", strategy, preferred));
      FakeSet set(5);
      for (std::size_t i = 0; i < 5; ++i) set[i].react(ends_with(Reaction::Then::die));
      RestingMaster master(fmt::format("{}\n ha_strategy = {}\n ha_ping_interval = {}", kCalm,
                                       strategy, preferred ? "500ms" : "0"),
                           preferred
                               ? set.table("read_preference = secondaryPreferred",
                                           {"primary", "replica", "replica", "replica", "replica"})
                               : set.table());
      for (int i = 0; i < 20; ++i) ASSERT_EQ(master.find().status, 200);
      const auto answer = master.search(kDeadly, "X-Request-ID: deadly-17\r\n");
      EXPECT_EQ(answer.status, 502);
      EXPECT_TRUE(answer.body.contains("two mirrors closed their connection on it")) << answer.body;
      const auto asked = [&] {
        std::size_t sum = 0;
        for (std::size_t i = 0; i < 5; ++i) sum += asked_for_it(set[i]);
        return sum;
      };
      EXPECT_EQ(asked(), 2u);
      EXPECT_EQ(master.count("crashing_requests"), 1);
      ASSERT_TRUE(master.process().wait_for("then refused connections"));
      EXPECT_TRUE(master.process().output().contains("request ID deadly-17"));
      for (int i = 0; i < 20; ++i) EXPECT_EQ(master.search(kDeadly).status, 502);
      EXPECT_EQ(asked(), 2u);
      for (int i = 0; i < 20; ++i) EXPECT_EQ(master.find().status, 200);
    }
}

TEST(DeadlyRequest, OfTwoShardsKillsNoMoreThanTwoOfEach) {
  FakeSet first(4);
  FakeSet second(4);
  for (auto* set : {&first, &second})
    for (std::size_t i = 0; i < 4; ++i) (*set)[i].react(ends_with(Reaction::Then::die));
  const auto line = [](FakeSet& set) {
    return fmt::format("{}|{}|{}|{}:t", set[0].address(), set[1].address(), set[2].address(),
                       set[3].address());
  };
  RestingMaster master(fmt::format("{}\n ha_ping_interval = 0", kCalm),
                       table_of({line(first), line(second)}));
  for (int i = 0; i < 20; ++i) ASSERT_EQ(master.find().status, 200);
  EXPECT_EQ(master.search(kDeadly).status, 502);
  for (auto* set : {&first, &second}) {
    std::size_t sum = 0;
    for (std::size_t i = 0; i < 4; ++i) sum += asked_for_it((*set)[i]);
    EXPECT_LE(sum, 2u);
  }
  for (int i = 0; i < 20; ++i) EXPECT_EQ(master.find().status, 200);
}

// The promise to answer while a mirror works holds where the others only reset connections.
TEST(DeadlyRequest, IsNoneIfTheMirrorsGoOnAccepting) {
  for (const auto then : {Reaction::Then::reset, Reaction::Then::close}) {
    FakeSet set(3);
    for (std::size_t i = 0; i < 2; ++i) set[i].react(ends_with(then));
    RestingMaster master(fmt::format("{}\n ha_strategy = roundrobin\n ha_ping_interval = 0", kCalm),
                         set.table());
    for (int i = 0; i < 12; ++i) ASSERT_EQ(master.find().status, 200);
    for (int i = 0; i < 6; ++i) EXPECT_EQ(master.search(kDeadly).status, 200);
    EXPECT_EQ(master.count("crashing_requests"), 0);
  }
}

}  // namespace
}  // namespace karmad::test
