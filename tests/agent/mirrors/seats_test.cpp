// The seats of an agent (`max_in_flight`), and the queries that wait for one.
#include "agent/mirrors/seats.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "agent/mirrors/in_line.hpp"
#include "strategies/registry.hpp"

namespace karmad {
namespace {

using namespace std::chrono_literals;

const Loops kNoLoops;

struct OneAgent {
  Vitals vitals;
  Seats seats{vitals};
  explicit OneAgent(unsigned most) { seats.rules({.most = most}); }
  std::uint32_t in_flight() const { return vitals.in_flight.load(); }
};

std::shared_ptr<Claim> claim() {
  return std::make_shared<Claim>(kNoLoops, 0);
}

TEST(Seats, WithoutALimitThereIsAlwaysOne) {
  OneAgent agent(0);
  std::vector<Seat> taken;
  for (int i = 0; i < 1000; ++i) taken.push_back(*agent.seats.try_take());
  EXPECT_EQ(agent.in_flight(), 1000u);
  EXPECT_FALSE(agent.seats.full());
  taken.clear();
  EXPECT_EQ(agent.in_flight(), 0u);
}

TEST(Seats, AsManyAsTheLimitSays) {
  OneAgent agent(2);
  auto first = agent.seats.try_take();
  auto second = agent.seats.try_take();
  ASSERT_TRUE(first && second);
  EXPECT_TRUE(agent.seats.full());
  EXPECT_FALSE(agent.seats.try_take());
  EXPECT_EQ(agent.in_flight(), 2u);
  first.reset();
  EXPECT_TRUE(agent.seats.try_take());
}

TEST(Seats, WhatIsNotEnforcedIsCounted) {
  OneAgent agent(0);
  agent.seats.rules({.most = 1, .enforced = false});
  const auto first = agent.seats.try_take();
  const auto second = agent.seats.try_take();
  EXPECT_TRUE(second);
  EXPECT_FALSE(agent.seats.full());
  EXPECT_EQ(agent.seats.over(), 1u);
  EXPECT_EQ(agent.seats.limit(), 1u);
}

TEST(Seats, AFreedPlaceGoesToWhoWaitedLongest) {
  OneAgent agent(1);
  auto taken = agent.seats.try_take();
  const auto first = claim();
  const auto second = claim();
  agent.seats.join(first, 3);
  agent.seats.join(second, 4);
  EXPECT_FALSE(first->got());
  taken.reset();
  EXPECT_EQ(first->got(), 3u);
  EXPECT_FALSE(second->got());
  EXPECT_EQ(agent.in_flight(), 1u);
  { const auto seat = agent.seats.take_granted(); }
  EXPECT_EQ(second->got(), 4u);
  { const auto seat = agent.seats.take_granted(); }
  EXPECT_EQ(agent.in_flight(), 0u);
}

TEST(Seats, NobodyOvertakesWhoWaits) {
  OneAgent agent(1);
  auto taken = agent.seats.try_take();
  const auto waits = claim();
  agent.seats.join(waits, 0);
  agent.seats.rules({.most = 2});
  EXPECT_EQ(waits->got(), 0u) << "a higher limit lets it in at once";
  const auto next = claim();
  agent.seats.join(next, 0);
  EXPECT_FALSE(agent.seats.try_take());
  agent.seats.leave(*next);
  EXPECT_FALSE(agent.seats.try_take());
  taken.reset();
  EXPECT_TRUE(agent.seats.try_take());
}

TEST(Seats, WhoGaveUpOrWasServedElsewhereIsPassedOver) {
  OneAgent agent(1);
  auto taken = agent.seats.try_take();
  const auto gone = claim();
  const auto waits = claim();
  agent.seats.join(gone, 0);
  agent.seats.join(waits, 1);
  EXPECT_TRUE(gone->give_up());
  taken.reset();
  EXPECT_EQ(waits->got(), 1u);
  EXPECT_FALSE(waits->give_up());
}

TEST(Seats, ALowerLimitHoldsAsPlacesComeBack) {
  OneAgent agent(3);
  std::vector<Seat> taken;
  for (int i = 0; i < 3; ++i) taken.push_back(*agent.seats.try_take());
  const auto waits = claim();
  agent.seats.join(waits, 0);
  agent.seats.rules({.most = 1});
  taken.pop_back();
  taken.pop_back();
  EXPECT_FALSE(waits->got());
  taken.pop_back();
  EXPECT_TRUE(waits->got());
  agent.seats.rules({});
  EXPECT_TRUE(agent.seats.try_take()) << "what was in flight is still counted";
  { const auto seat = agent.seats.take_granted(); }
  EXPECT_EQ(agent.in_flight(), 0u);
}

TEST(Seats, AutoFollowsWhatItsAnswersTook) {
  OneAgent agent(0);
  agent.seats.rules({.automatic = true});
  EXPECT_EQ(agent.vitals.most_in_flight.load(), 4u) << "until the baseline is known";
  TimePoint now{1h};
  const auto windows = [&](int many, Micros took) {
    for (; many > 0; --many) {
      agent.seats.refresh(now);
      for (int round = 0; round < 5; ++round) {
        std::vector<Seat> taken;
        while (auto seat = agent.seats.try_take()) taken.push_back(*std::move(seat));
        for (auto& seat : taken) seat.answered(took);
      }
      now += 100ms;
    }
    agent.seats.refresh(now);
    return agent.vitals.most_in_flight.load();
  };
  EXPECT_EQ(windows(4, 10ms), 20u);
  EXPECT_GT(windows(50, 10ms), 50u);
  EXPECT_LT(windows(50, 30ms), 20u);
  agent.seats.rules({.most = 6, .automatic = true});
  EXPECT_LE(windows(50, 10ms), 6u) << "a number beside it is its most";
}

/// Two mirrors of one set, at agents of their own.
struct Pair {
  std::vector<std::shared_ptr<Agent>> agents;
  std::shared_ptr<MirrorSet> set;
  explicit Pair(unsigned most) {
    std::vector<std::unique_ptr<Mirror>> mirrors;
    for (std::uint16_t port = 1; port <= 2; ++port) {
      agents.push_back(
          std::make_shared<Agent>(Address{.host = "127.0.0.1", .port = port}, port, 1, 60s));
      agents.back()->seats.rules({.most = most});
      mirrors.push_back(
          std::make_unique<Mirror>(agents.back(), std::vector<std::string>{"t"}, 1, Micros{60s}));
    }
    SetOptions options{.strategy = make_strategy("random", {}), .period = 60s};
    set = std::make_shared<MirrorSet>(std::move(mirrors), std::move(options), kNoLoops);
    set->look_at_limits();
  }
  std::uint32_t in_flight(std::size_t i) const { return agents[i]->vitals.in_flight.load(); }
  std::uint32_t claimed(std::size_t i) const { return agents[i]->vitals.claimed.load(); }
};

TEST(InLine, TakesWhicheverPlaceIsFreedFirst) {
  Pair pair(1);
  EXPECT_TRUE(pair.set->full().empty());
  auto a = pair.agents[0]->seats.try_take();
  auto b = pair.agents[1]->seats.try_take();
  EXPECT_EQ(pair.set->full(), Candidates::first(2));
  EXPECT_EQ(pair.set->longest_line(4), 8u);
  InLine line(*pair.set, 0);
  line.wants(Candidates::first(2));
  line.wants(Candidates::first(2));
  EXPECT_EQ(pair.claimed(0), 1u);
  b.reset();
  ASSERT_EQ(line.claim()->got(), 1u);
  auto got = line.take();
  ASSERT_TRUE(got);
  EXPECT_EQ(got->mirror, 1u);
  EXPECT_EQ(pair.claimed(0), 0u);
  EXPECT_EQ(pair.claimed(1), 0u);
  EXPECT_EQ(pair.in_flight(1), 1u);
  got.reset();
  EXPECT_EQ(pair.in_flight(1), 0u);
}

TEST(InLine, WhoLeavesPassesOnWhatHeGot) {
  Pair pair(1);
  auto a = pair.agents[0]->seats.try_take();
  std::optional<InLine> first(std::in_place, *pair.set, 0);
  InLine second(*pair.set, 0);
  Candidates only_a;
  only_a.insert(0);
  first->wants(only_a);
  second.wants(only_a);
  a.reset();
  EXPECT_TRUE(first->claim()->got());
  first.reset();
  EXPECT_TRUE(second.claim()->got());
}

// Never more inside than the limit, and none lost, whatever many threads do (TSan runs this too).
TEST(InLine, ManyThreadsNeverExceedTheLimitAndLoseNothing) {
  constexpr unsigned kLimit = 3;
  constexpr int kRounds = 20'000;
  Pair pair(kLimit);
  std::atomic<int> inside[2] = {};
  std::atomic<bool> exceeded{false};
  std::atomic<std::uint64_t> served{0};
  const auto work = [&](unsigned seed) {
    SeededRandom random(seed);
    for (int i = 0; i < kRounds; ++i) {
      const auto use = [&](std::size_t mirror, const Seat&) {
        if (inside[mirror].fetch_add(1) >= static_cast<int>(kLimit)) exceeded = true;
        if (random.below(8) == 0) std::this_thread::yield();
        inside[mirror].fetch_sub(1);
        ++served;
      };
      const auto at = random.below(2);
      if (auto seat = pair.agents[at]->seats.try_take()) {
        use(at, *seat);
        continue;
      }
      InLine line(*pair.set, 0);
      line.wants(Candidates::first(2));
      for (auto patience = random.below(50); patience > 0 && !line.claim()->got(); --patience)
        std::this_thread::yield();
      if (!line.claim()->got() && random.below(2) == 0) continue;  // leaves
      while (!line.claim()->got()) std::this_thread::yield();
      auto got = line.take();
      use(got->mirror, got->seat);
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 8; ++i) threads.emplace_back(work, i);
  for (auto& thread : threads) thread.join();
  EXPECT_FALSE(exceeded);
  EXPECT_GT(served, 0u);
  for (const std::size_t i : {0, 1}) {
    EXPECT_EQ(pair.in_flight(i), 0u);
    EXPECT_EQ(pair.claimed(i), 0u);
  }
}

}  // namespace
}  // namespace karmad
