#include "balancer/trace/access.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace karmad {
namespace {

using namespace std::chrono_literals;

constexpr TimePoint kLineStart{1s};

std::string text_of(const Trace& trace, const Access& access) {
  std::string out;
  append_access_text(out, trace, kLineStart + 1234us, access);
  return out;
}

struct AccessLine : ::testing::Test {
  AccessLine() { trace.began = kLineStart; }
  void attempt(Outcome outcome) {
    trace.begin({.mirror = "a:1", .at = kLineStart}).end(kLineStart, outcome);
  }
  bool is_notable_after(Micros took, const Access& access = {.status = 200}) const {
    return is_notable(trace, kLineStart + took, access, 1s);
  }
  Trace trace;
};

TEST_F(AccessLine, SaysHowTheRequestEnded) {
  EXPECT_EQ(end_of(trace, {.status = 200}), "answered");
  EXPECT_EQ(end_of(trace, {.status = 404}), "refused");
  EXPECT_EQ(end_of(trace, {.status = 499}), "client_left");
  EXPECT_EQ(end_of(trace, {.status = 200, .broken_off = "closed"}), "broken_off");
  attempt(Outcome::broken);
  EXPECT_EQ(end_of(trace, {.status = 502}), "failed");
  trace.partial = true;
  EXPECT_EQ(end_of(trace, {.status = 200}), "partial");
}

TEST_F(AccessLine, OfARequestThatDidNotEndWellOrWasSlowIsNotable) {
  EXPECT_FALSE(is_notable_after(999ms));
  EXPECT_TRUE(is_notable_after(1s));
  EXPECT_TRUE(is_notable_after(0ms, {.status = 400}));
  EXPECT_TRUE(is_notable_after(0ms, {.status = 499}));
  EXPECT_TRUE(is_notable_after(0ms, {.status = 200, .broken_off = "closed"}));
  trace.partial = true;
  EXPECT_TRUE(is_notable_after(0ms));
}

TEST_F(AccessLine, CanBeReadByPeople) {
  trace.request_id = "abc";
  trace.trace_id = "4bf92f3577b34da6a3ce929d0e0e4736";
  trace.client = "127.0.0.1";
  trace.operation = "search";
  trace.table = "products";
  trace.queued = 500us;
  trace.merge = 20us;
  trace.begin({.mirror = "a:1", .at = kLineStart + 10us})
      .end(kLineStart + 40us, Outcome::broken, "reset by peer");
  auto second = trace.begin(
      {.shard = 2, .mirror = "b:2", .reason = AttemptReason::retry, .at = kLineStart + 1ms});
  second.connected(kLineStart + 1100us);
  second.first_byte(kLineStart + 1150us);
  second.end(kLineStart + 1200us, Outcome::answered);
  EXPECT_EQ(text_of(trace, {.time = std::chrono::system_clock::time_point(1700000000s + 42us),
                            .method = "POST",
                            .path = "/search",
                            .status = 200,
                            .bytes_in = 321,
                            .bytes_out = 45}),
            "2023-11-14T22:13:20.000042Z 127.0.0.1 POST /search 200 answered 1.234 ms in=321 "
            "out=45 request_id=abc trace_id=4bf92f3577b34da6a3ce929d0e0e4736 operation=search "
            "table=products queued=0.500 connect=0.100 first_byte=1.150 merge=0.020 retried "
            "[1 a:1 initial 0.010 end=0.040 \"connection broken\": \"reset by peer\"] "
            "[2 b:2 retry 1.000 connected=1.100 first_byte=1.150 end=1.200 answered]");
}

TEST_F(AccessLine, HasADashWhereARequestCouldNotBeRead) {
  EXPECT_TRUE(text_of(trace, {.status = 400, .bytes_in = 9, .reason = "this is not HTTP"})
                  .ends_with("Z - - - 400 refused 1.234 ms in=9 out=0 "
                             "reason=\"this is not HTTP\""));
}

TEST_F(AccessLine, IsPrintableAndOfBoundedSizeForAnyInput) {
  const std::string hostile(100'000, '\n');
  trace.client = trace.table = trace.operation = hostile;
  for (int i = 0; i < 100; ++i)
    trace.begin({.mirror = hostile, .at = kLineStart}).end(kLineStart, Outcome::broken, hostile);
  const auto text = text_of(
      trace, {.method = hostile, .path = hostile, .broken_off = hostile, .reason = hostile});
  EXPECT_TRUE(std::ranges::all_of(text, [](char c) { return c >= ' ' && c < 0x7f; }));
  EXPECT_LT(text.size(), 64U << 10);
  EXPECT_TRUE(text.contains(" left_out="));
}

}  // namespace
}  // namespace karmad
