// Retries that leave a zone (CO-030 … CO-038); shards that move while they are asked (CO-052,
// CO-056).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <memory>
#include <string_view>

#include "tests/support/fake_set.hpp"

namespace karmad::test {
namespace {

constexpr std::string_view kQuorum = "X-Consistency: quorum\r\n";

/// Pings at the start, and on demand.
std::string seldom_pinged(const std::string& more = {}) {
  return taking_turns("ha_ping_interval = 10m\n ping_timeout = 10s\n " + more);
}

std::string in_zone(const std::string& address, std::string_view zone) {
  return fmt::format("{}:products[tags=zone:{}]", address, zone);
}

std::string traced(const RestingMaster& master) {
  return master.find("", kTraced).fields["x-karmad-trace"];
}

TEST(Zones, ARetryLeavesTheZoneOfAMirrorThatCannotBeReached) {  // CO-030, CO-038
  auto gone = std::make_unique<FakeMirror>(always(nothing_found()));
  const auto its_address = gone->address();
  FakeSet mirrors(2);
  const auto line =
      fmt::format("{}|{}|{}", in_zone(its_address, "a"), in_zone(mirrors[0].address(), "a"),
                  in_zone(mirrors[1].address(), "b"));
  const RestingMaster master(seldom_pinged(), table_of({line}));
  ASSERT_TRUE(master.shows({"router", "router", "router"}));
  gone.reset();
  int met = 0;
  for (int i = 0; i < 9; ++i) {
    const auto trace = traced(master);
    if (at(trace, "/attempts/0/mirror") != its_address) continue;
    ++met;
    EXPECT_EQ(at(trace, "/attempts/1/mirror"), mirrors[1].address()) << trace;
    EXPECT_EQ(at(trace, "/attempts/1/reason"), "zone");
    EXPECT_EQ(at(trace, "/attempts/1/outcome"), "answered");
  }
  EXPECT_GE(met, 1);
  EXPECT_LE(met, 3) << "it is left alone for a while";
}

TEST(Zones, ASearchLeavesTheZoneOfAFailingMirrorOnce) {  // CO-036, CO-037
  FakeSet mirrors(4, json(R"({"error":"internal error"})", 503));
  std::string line;
  for (std::size_t i = 0; i < 4; ++i)
    line.append(i > 0 ? "|" : "").append(in_zone(mirrors[i].address(), i < 2 ? "a" : "b"));
  const RestingMaster master(seldom_pinged("agent_retry_count = 1"), table_of({line}));
  ASSERT_TRUE(master.shows({"router", "router", "router", "router"}));
  const auto trace = traced(master);
  EXPECT_EQ(at(trace, "/attempts/1/reason"), "zone") << trace;
  EXPECT_EQ(at(trace, "/attempts/2/reason"), "retry");
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_GE(mirrors[i].requests(), 1U) << "each one, before any is asked again";
}

TEST(Zones, DoNotMatterIfTheSettingIsOff) {  // CO-031
  FakeSet mirrors(2);
  mirrors[0].react(always(json(R"({"error":"internal error"})", 503)));
  const auto line =
      fmt::format("{}|{}", in_zone(mirrors[0].address(), "a"), in_zone(mirrors[1].address(), "b"));
  const RestingMaster master(seldom_pinged("zone_max_retries = 0"), table_of({line}));
  ASSERT_TRUE(master.shows({"router", "router"}));
  for (int i = 0; i < 4; ++i) EXPECT_FALSE(traced(master).contains("zone"));
  EXPECT_GT(mirrors[0].requests(), 0U);
}

// CO-052: the table of shards is the configuration; a reload says where the shard is now.
TEST(Moved, ARequestIsPlannedAgainWhenAReloadHasThePlaceOfTheShard) {
  for (const auto consistency : {std::string_view(), kQuorum}) {
    SCOPED_TRACE(consistency);
    FakeSet before(2);
    FakeSet after(1);
    std::atomic<bool> reloaded{false};
    std::atomic<int> asked{0};
    for (std::size_t i = 0; i < 2; ++i)
      before[i].react([&](const std::string&) {
        ++asked;
        EXPECT_TRUE(eventually([&] { return reloaded.load(); }));
        return refused(410, "X-Sub-Status: 1008\r\n", R"({"error":"moved"})");
      });
    RestingMaster master(taking_turns(), before.table());
    auto pending = Pending::search(master, "nearest", fmt::format("{}{}", kTraced, consistency));
    ASSERT_TRUE(eventually([&] { return asked == 1; }));
    ASSERT_TRUE(master.reload(taking_turns(), after.table()));
    reloaded = true;
    const auto answer = pending.answer();
    EXPECT_EQ(answer.status, 200) << answer.body;
    EXPECT_EQ(before.requests(), 1U);
    EXPECT_EQ(after.requests(), 1U);
    EXPECT_EQ(master.count("planned_anew"), 1);
    EXPECT_EQ(master.count("queries"), 1);
    const auto trace = answer.fields.at("x-karmad-trace");
    EXPECT_EQ(at(trace, "/attempts/1/mirror"), after[0].address()) << trace;
  }
}

TEST(Moved, AFurtherPartOfARequestIsCountedAndPlannedAgainLikeTheFirst) {  // CO-052
  struct Case {
    std::string_view target, body, found;
  };
  for (const auto& [target, body, found] :
       {Case{"/_msearch", "{\"index\":\"t\"}\n{}\n{\"index\":\"t\"}\n{}\n",
             R"({"took":1,"timed_out":false,"hits":{"total":0,"hits":[]}})"},
        Case{"/cli_json", "SELECT a FROM t; SELECT b FROM t",
             R"([{"columns":[{"a":{"type":"long"}}],"data":[],"total":0,"error":"","warning":""},)"
             R"({"columns":[{"Variable_name":{"type":"string"}},{"Value":{"type":"string"}}],)"
             R"("data":[],"total":0,"error":"","warning":""}])"}}) {
    SCOPED_TRACE(target);
    std::array sets{FakeSet(1), FakeSet(1), FakeSet(1, json(found))};
    std::atomic<int> reloads{0};
    std::atomic<int> asked{0};
    const auto moves_at = [&](int reload) {
      asked = reload;
      EXPECT_TRUE(eventually([&] { return reloads == reload; }));
      return refused(410, "X-Sub-Status: 1008\r\n", R"({"error":"moved"})");
    };
    sets[0][0].react([&](const auto&) { return moves_at(1); });
    std::atomic<bool> first{true};
    sets[1][0].react(
        [&](const auto&) { return first.exchange(false) ? json(found) : moves_at(2); });
    RestingMaster master(taking_turns(), sets[0].table());
    Pending pending(master, target, body);
    ASSERT_TRUE(eventually([&] { return asked == 1; }));
    ASSERT_TRUE(master.reload(taking_turns(), sets[1].table()));
    reloads = 1;
    ASSERT_TRUE(eventually([&] { return asked == 2; })) << pending.answer().body;
    ASSERT_TRUE(master.reload(taking_turns(), sets[2].table()));
    reloads = 2;
    const auto answer = pending.answer();
    EXPECT_EQ(answer.status, 200) << answer.body;
    EXPECT_FALSE(answer.body.contains("moved")) << answer.body;
    EXPECT_EQ(sets[2].requests(), 1U);
    EXPECT_EQ(master.count("planned_anew"), 2);
    EXPECT_EQ(master.count("queries"), 2);
  }
}

TEST(Moved, WithoutANewConfigurationTheNextMirrorIsAsked) {  // CO-052
  FakeSet mirrors(2);
  mirrors[0].react(always(refused(410, "X-Sub-Status: 1007\r\n", R"({"error":"split"})")));
  const RestingMaster master(taking_turns(), mirrors.table());
  for (int i = 0; i < 4; ++i) EXPECT_EQ(master.find().status, 200);
  EXPECT_EQ(master.count("planned_anew"), 0);
}

TEST(Moved, WhatNoAttemptRepairsIsReportedAsTheRulesSay) {  // CO-053, CO-056
  FakeSet mirrors(2, refused(410, "X-Sub-Status: 1000\r\n", R"({"error":"made anew"})"));
  const RestingMaster master(taking_turns(), mirrors.table());
  EXPECT_EQ(master.find().status, 503);
  EXPECT_EQ(mirrors.requests(), 3U);
  mirrors.react(refused(449, "", R"({"error":"again"})"));
  EXPECT_EQ(master.find().status, 449);
}

}  // namespace
}  // namespace karmad::test
