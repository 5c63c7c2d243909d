#include "agent/mirrors/ping.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "agent/transport/pool.hpp"
#include "strategies/kinds/registry.hpp"
#include "tests/agent/transport/on_loop.hpp"
#include "tests/support/fake_mirror.hpp"

namespace karmad::test {
namespace {

/// A mirror set of one, and its pinger.
struct Pinged {
  explicit Pinged(const FakeMirror& mirror, Micros interval, Micros timeout = 5s,
                  bool starts = true)
      : agent(std::make_shared<Agent>(
            Address{.host = "127.0.0.1", .port = static_cast<std::uint16_t>(mirror.port())}, 0, 1,
            std::chrono::seconds(60))) {
    std::vector<std::unique_ptr<Mirror>> mirrors;
    mirrors.push_back(std::make_unique<Mirror>(agent, std::vector<std::string>{"t"}, 1, 60s));
    set = std::make_shared<MirrorSet>(
        std::move(mirrors),
        SetOptions{.strategy = make_strategy("random", {}),
                   .period = 60s,
                   .state = {.kind = SetKind::direct, .ping_interval = interval}},
        loops);
    pinger = std::make_shared<Pinger>(
        loop, agent,
        PingSettings{.interval = interval, .timeout = timeout, .kind = ping_kind("http")},
        LookUp::at_load);
    pinger->subscribe(set, 0, true);
    set->pinger(0, pinger);
    if (starts) pinger->start();
  }
  ~Pinged() {
    pinger->stop();
    turn_until(loop, [this] { return pinger->stopped(); });
  }
  bool until(auto&& what) { return turn_until(loop, what); }
  void turn() {
    loop.io.restart();
    loop.io.run_one_for(1ms);
  }
  Role role() const { return set->view(0)->picture.mirrors[0].role; }

  Loops loops;  // none: what is found out is known at once
  Loop loop{0, 1 << 20, 1};
  std::shared_ptr<Agent> agent;
  std::shared_ptr<MirrorSet> set;
  std::shared_ptr<Pinger> pinger;
};

TEST(Pings, ComeOneAfterTheOtherOnAConnectionOfTheirOwn) {  // SD-002, SD-003, SS-002
  FakeMirror mirror([](const std::string&) { return json("{}"); }, true);
  Pinged pinged(mirror, 20ms);
  EXPECT_TRUE(pinged.until([&] { return mirror.requests() >= 3; }));
  EXPECT_EQ(mirror.connections(), 1u);
  // Requests neither use that connection nor leave theirs to pings.
  Pool pool(pinged.loop, pinged.agent, pinged.agent->connections, LookUp::at_load);
  for (int i = 0; i < 3; ++i) {
    Stop stop(pinged.loop);
    auto taken = result_of(pinged.loop, pool.take(Pool::From::idle, stop));
    ASSERT_TRUE(taken);
    const auto pings = mirror.requests();
    EXPECT_TRUE(pinged.until([&] { return mirror.requests() >= pings + 2; }));
    pool.give(std::move(taken->connection));
    EXPECT_TRUE(pinged.until([&] { return mirror.requests() >= pings + 4; }));
    EXPECT_EQ(mirror.connections(), 2u);
  }
  pool.clear();
  EXPECT_TRUE(pinged.until([&] { return pool.unused(); }));
  EXPECT_EQ(pinged.role(), Role::router);
  EXPECT_TRUE(pinged.set->view(0)->picture.mirrors[0].rtt);  // SS-150, SD-006
  EXPECT_EQ(pinged.agent->counters.in_flight, 0u);           // no operation of a query
}

/// A mirror that holds back the rest of its answer to the ping, behind `held_from` bytes.
struct SlowToFinish {
  explicit SlowToFinish(std::size_t held_from) : sent_at_once(held_from) {}

  /// Lets the whole ping happen; returns how long the rest was held back, and at most how much time
  /// had passed when the first part had arrived.
  std::pair<Micros, Micros> ping() {
    const auto began = Loop::now();
    pinged.pinger->start();
    EXPECT_TRUE(pinged.until([&] { return mirror.sent() >= sent_at_once; }));
    const auto sent = Loop::now();
    for (int i = 0; i < 10; ++i) pinged.turn();
    const auto read_by = Loop::now();
    EXPECT_TRUE(pinged.until([&] { return Loop::now() >= read_by + 100ms; }));
    const auto held = Loop::now() - sent;
    mirror.send_rest();
    EXPECT_TRUE(pinged.until([&] { return pinged.role() == Role::router; }));
    return {std::chrono::duration_cast<Micros>(held),
            std::chrono::duration_cast<Micros>(read_by - began)};
  }
  Micros of_set() const { return *pinged.set->view(0)->picture.mirrors[0].rtt; }
  Micros of_agent() const { return Micros{pinged.agent->counters.ping_trip}; }

  std::size_t sent_at_once;
  FakeMirror mirror{[this](const std::string&) {
                      auto answer = json("{}");
                      answer.held_from = sent_at_once;
                      return answer;
                    },
                    true};
  Pinged pinged{mirror, 1h, 5s, false};
};

TEST(Pings, TheRoundTripEndsWithTheLastByteOfTheHead) {  // SD-006
  SlowToFinish body(json("{}").bytes.size() - 2);
  const auto [held, read_by] = body.ping();
  EXPECT_LE(body.of_set(), read_by);
  EXPECT_LE(body.of_agent(), read_by);
  EXPECT_LT(read_by, held);

  SlowToFinish head(std::string_view("HTTP/1.1 200 OK\r\nCont").size());
  const auto head_held = head.ping().first;
  EXPECT_GE(head.of_set(), head_held);
  EXPECT_GE(head.of_agent(), head_held);
}

TEST(Pings, ThatAreWantedComeSoonerThanTheInterval) {  // SD-004, SS-128
  FakeMirror mirror([](const std::string&) { return json("{}"); }, true);
  Pinged pinged(mirror, 1h);
  ASSERT_TRUE(pinged.until([&] { return pinged.role() == Role::router; }));
  const auto ended = Loop::now();
  pinged.set->check_now();
  pinged.set->check_now();
  EXPECT_TRUE(pinged.until([&] { return mirror.requests() == 2; }));
  EXPECT_GE(Loop::now() - ended, kRecheck - 20ms);  // but not at once
}

/// An attempt that counts how often the set interrupted it.
struct Watching final : AttemptInFlight {
  Watching() : AttemptInFlight(0, TimePoint{}) {}
  void unreachable() override {
    ++told;
    if (then) then();
  }
  int told = 0;
  std::function<void()> then;
};

TEST(Pings, ThatTimeOutEndAttemptsInProgress) {  // SD-008
  FakeMirror mirror([](const std::string&) { return json("{}"); }, true);
  Pinged pinged(mirror, 20ms, 100ms);
  ASSERT_TRUE(pinged.until([&] { return pinged.role() == Role::router; }));
  Watching first;
  auto ended_by_it = std::make_unique<Watching>();
  Watching last;
  std::unique_ptr<Watching> begun_by_it;
  first.then = [&] {
    ended_by_it.reset();
    if (begun_by_it) return;
    begun_by_it = std::make_unique<Watching>();
    pinged.set->watch(*begun_by_it, 0);
  };
  for (auto* attempt : {&first, ended_by_it.get(), &last}) pinged.set->watch(*attempt, 0);
  mirror.react([](const std::string&) { return silence(); });
  EXPECT_TRUE(pinged.until([&] { return last.told == 1; }));
  EXPECT_EQ(first.told, 1);
  EXPECT_EQ(ended_by_it, nullptr);
  ASSERT_NE(begun_by_it, nullptr);
  EXPECT_EQ(begun_by_it->told, 0) << "it began after the ping";
  EXPECT_TRUE(pinged.until([&] { return begun_by_it->told == 1; })) << "the next one times out too";
}

TEST(Pings, ThatTimeOutWhileOtherRequestsAreAnsweredEndNoAttempt) {
  FakeMirror mirror([](const std::string&) { return json("{}"); }, true);
  Pinged pinged(mirror, 20ms, 50ms);
  ASSERT_TRUE(pinged.until([&] { return pinged.role() == Role::router; }));
  Watching attempt;
  pinged.set->watch(attempt, 0);
  mirror.react([](const std::string&) { return silence(); });
  pinged.agent->counters.last_reply = (Loop::now() + 1h).time_since_epoch().count();
  const auto before = mirror.requests();
  EXPECT_TRUE(pinged.until([&] { return mirror.requests() >= before + 3; }));
  EXPECT_EQ(attempt.told, 0);
  EXPECT_EQ(pinged.role(), Role::unknown);
}

TEST(Pings, ThatFailMakeTheMirrorUnknownAndAreRepeatedOnceAtOnce) {  // SD-008, SS-151
  FakeMirror mirror([](const std::string&) { return json("{}"); }, true);
  Pinged pinged(mirror, 1h);
  ASSERT_TRUE(pinged.until([&] { return pinged.role() == Role::router; }));
  mirror.react([](const std::string&) { return Reaction{"", Reaction::Then::reset}; });
  pinged.set->check_now();
  EXPECT_TRUE(pinged.until([&] { return pinged.role() == Role::unknown; }));
  EXPECT_FALSE(pinged.set->view(0)->picture.mirrors[0].rtt);
  EXPECT_EQ(pinged.agent->generation, 1u);
  const auto before = mirror.requests();
  EXPECT_TRUE(pinged.until([&] { return mirror.requests() > before; }));
}

TEST(Pings, ThatTakeTooLongFail) {  // SD-007
  FakeMirror mirror([](const std::string&) { return silence(); }, true);
  Pinged pinged(mirror, 1h, 50ms);
  EXPECT_TRUE(pinged.until([&] { return !pinged.set->view(0)->mirrors[0].why.empty(); }));
  EXPECT_EQ(pinged.role(), Role::unknown);
}

}  // namespace
}  // namespace karmad::test
