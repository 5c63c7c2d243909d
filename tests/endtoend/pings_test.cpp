// When mirrors are pinged, seen from the mirrors.
#include <gtest/gtest.h>

#include <chrono>

#include "tests/support/fake_set.hpp"

namespace karmad::test {
namespace {

using Clock = std::chrono::steady_clock;

std::size_t pings_seen_by(const FakeMirror& mirror) {
  std::size_t count = 0;
  for (const auto& request : mirror.seen()) count += request.starts_with("GET ") ? 1 : 0;
  return count;
}

Reaction hello_or_found(const std::string& request) {
  return request.starts_with("GET ") ? json(R"({"ok":true,"role":"router"})") : nothing_found();
}

TEST(Pings, OfASilentMirrorDelayNoOther) {  // SD-001
  const FakeMirror silent(always(silence()), true);
  const FakeMirror first(hello_or_found, true);
  const FakeMirror second(hello_or_found, true);
  const RestingMaster master(
      taking_turns("ha_ping_interval = 500ms\n ping_timeout = 1m\n read_preference = nearest"),
      table_of({line_of({silent.address(), first.address()}), line_of({second.address()})},
               "ping_type = native"));
  EXPECT_TRUE(eventually([&] { return pings_seen_by(first) >= 3 && pings_seen_by(second) >= 3; }));
  EXPECT_EQ(pings_seen_by(silent), 1U) << "its first ping still waits for the answer";
  EXPECT_TRUE(master.shows({"unknown", "router"}));
}

TEST(Pings, AskMirrorsThatAreIdle) {  // HA-013
  constexpr auto kInterval = std::chrono::milliseconds(300);
  const FakeMirror mirror(hello_or_found, true);
  const RestingMaster master(taking_turns("ha_ping_interval = 300ms"),
                             table_of({line_of({mirror.address()})}));
  EXPECT_TRUE(eventually([&] { return pings_seen_by(mirror) >= 3; }));
  const auto before = pings_seen_by(mirror);
  std::size_t long_gaps = 0;  // of a slow machine: then the mirror was idle
  auto last = Clock::now();
  for (const auto end = last + 5 * kInterval; last < end;) {
    EXPECT_EQ(master.find().status, 200);
    const auto now = Clock::now();
    if (now - last > kInterval / 2) ++long_gaps;
    last = now;
  }
  const auto after = pings_seen_by(mirror);
  EXPECT_LE(after - before, 1 + long_gaps);
  EXPECT_TRUE(eventually([&] { return pings_seen_by(mirror) >= after + 2; }));
}

TEST(Pings, ThatAreRefusedAreNotRetried) {  // BP-001
  const FakeMirror mirror(always(refused(429, "Retry-After-Ms: 1\r\n")), true);
  const RestingMaster master(taking_turns("ha_ping_interval = 500ms\n read_preference = nearest"),
                             table_of({line_of({mirror.address()})}, "ping_type = native"));
  EXPECT_TRUE(eventually([&] { return pings_seen_by(mirror) >= 2; }));
  for (const auto* const count : {"attempts", "overload_retries", "throttled_retries"})
    EXPECT_EQ(master.count(count), 0) << count;
}

}  // namespace
}  // namespace karmad::test
