#include "balancer/watch/event_log.hpp"

#include <gtest/gtest.h>

namespace karmad {
namespace {

using namespace std::chrono_literals;

constexpr WallTime kEventTime{std::chrono::sys_days{std::chrono::year{2026} / 11 / 23} + 12h +
                              3min + 11s + 7ms};

TEST(EventLog, WritesOneObjectPerEvent) {
  EventLog log;
  log.add({.kind = OperatorEvent::Kind::started, .message = "karmad has started"}, kEventTime);
  log.add({.severity = LogLevel::error,
           .table = "t",
           .shard = 1,
           .mirror = 2,
           .address = "127.0.0.1:1",
           .state = "dead",
           .former_state = "ready",
           .reason = "refused; 4 errors in a row",
           .last_error = "refused",
           .last_error_at = kEventTime - 1s,
           .message = "it said \"no\"\n"},
          kEventTime);
  const auto all = log.since(0);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].json, R"({"id":1,"time":"2026-11-23T12:03:11.007Z","severity":"info",)"
                         R"("event":"started","message":"karmad has started"})");
  EXPECT_EQ(
      all[1].json,
      R"({"id":2,"time":"2026-11-23T12:03:11.007Z","severity":"error","event":"mirror",)"
      R"("table":"t","shard":1,"mirror":2,"address":"127.0.0.1:1","state":"dead",)"
      R"("former_state":"ready","reason":"refused; 4 errors in a row","last_error":"refused",)"
      R"("last_error_at":"2026-11-23T12:03:10.007Z","message":"it said \"no\"\n"})");
}

TEST(EventLog, KeepsTheLastThousandAndFindsThoseAfterAnId) {
  EventLog log;
  EXPECT_EQ(log.newest(), 0u);
  EXPECT_TRUE(log.since(0).empty());
  for (int i = 0; i < 1500; ++i)
    log.add({.kind = OperatorEvent::Kind::reloaded, .message = "m"}, kEventTime);
  EXPECT_EQ(log.newest(), 1500u);
  EXPECT_EQ(log.since(0).size(), 1000u);
  EXPECT_EQ(log.since(0).front().id, 501u);
  EXPECT_EQ(log.since(1498).size(), 2u);
  EXPECT_EQ(log.since(600, 3).size(), 3u);
  EXPECT_EQ(log.since(600, 3).front().id, 601u);
  EXPECT_EQ(log.since(1499, 3).size(), 1u);
  EXPECT_TRUE(log.since(1500).empty());
  EXPECT_TRUE(log.since(99999).empty());
}

TEST(EventLog, CutsALongMessage) {
  EventLog log;
  log.add({.kind = OperatorEvent::Kind::reloaded, .message = std::string(100000, 'x')}, kEventTime);
  EXPECT_LT(log.since(0).front().json.size(), 1000u);
}

}  // namespace
}  // namespace karmad
