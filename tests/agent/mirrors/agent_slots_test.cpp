// The slots of an agent (`max_in_flight`), and the queries that wait for one.
#include "agent/mirrors/agent_slots.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "agent/mirrors/mirror_set.hpp"
#include "strategies/kinds/registry.hpp"

namespace karmad {
namespace {

using namespace std::chrono_literals;

const Loops kNoLoops;

struct OneAgent {
  AgentCounters counters;
  AgentSlots slots{counters};
  explicit OneAgent(unsigned most) { slots.rules({.most = most}); }
  std::uint32_t in_flight() const { return counters.in_flight.load(); }
};

std::shared_ptr<SlotWaiter> waiter() {
  return std::make_shared<SlotWaiter>(kNoLoops, 0);
}

TEST(AgentSlots, WithoutALimitAlwaysHasASlot) {
  OneAgent agent(0);
  std::vector<AgentSlot> taken;
  for (int i = 0; i < 1000; ++i) taken.push_back(*agent.slots.try_take());
  EXPECT_EQ(agent.in_flight(), 1000u);
  EXPECT_FALSE(agent.slots.full());
  taken.clear();
  EXPECT_EQ(agent.in_flight(), 0u);
}

TEST(AgentSlots, GivesAsManyAsTheLimit) {
  OneAgent agent(2);
  auto first = agent.slots.try_take();
  auto second = agent.slots.try_take();
  ASSERT_TRUE(first && second);
  EXPECT_TRUE(agent.slots.full());
  EXPECT_FALSE(agent.slots.try_take());
  EXPECT_EQ(agent.in_flight(), 2u);
  first.reset();
  EXPECT_TRUE(agent.slots.try_take());
}

TEST(AgentSlots, InMonitorModeOnlyCounts) {
  OneAgent agent(0);
  agent.slots.rules({.most = 1, .enforced = false});
  const auto first = agent.slots.try_take();
  const auto second = agent.slots.try_take();
  EXPECT_TRUE(second);
  EXPECT_FALSE(agent.slots.full());
  EXPECT_EQ(agent.slots.over(), 1u);
  EXPECT_EQ(agent.slots.limit(), 1u);
}

TEST(AgentSlots, AFreeSlotGoesToTheLongestWait) {
  OneAgent agent(1);
  auto taken = agent.slots.try_take();
  const auto first = waiter();
  const auto second = waiter();
  agent.slots.join(first, 3);
  agent.slots.join(second, 4);
  EXPECT_FALSE(first->got());
  taken.reset();
  EXPECT_EQ(first->got(), 3u);
  EXPECT_FALSE(second->got());
  EXPECT_EQ(agent.in_flight(), 1u);
  { const auto slot = agent.slots.take_granted(); }
  EXPECT_EQ(second->got(), 4u);
  { const auto slot = agent.slots.take_granted(); }
  EXPECT_EQ(agent.in_flight(), 0u);
}

TEST(AgentSlots, NewQueriesDoNotOvertakeWaitingOnes) {
  OneAgent agent(1);
  auto taken = agent.slots.try_take();
  const auto waits = waiter();
  agent.slots.join(waits, 0);
  agent.slots.rules({.most = 2});
  EXPECT_EQ(waits->got(), 0u) << "a higher limit lets it in at once";
  const auto next = waiter();
  agent.slots.join(next, 0);
  EXPECT_FALSE(agent.slots.try_take());
  agent.slots.leave(*next);
  EXPECT_FALSE(agent.slots.try_take());
  taken.reset();
  EXPECT_TRUE(agent.slots.try_take());
}

TEST(AgentSlots, SkipsWaitsThatEndedOrGotASlotElsewhere) {
  OneAgent agent(1);
  auto taken = agent.slots.try_take();
  const auto gone = waiter();
  const auto waits = waiter();
  agent.slots.join(gone, 0);
  agent.slots.join(waits, 1);
  EXPECT_TRUE(gone->give_up());
  taken.reset();
  EXPECT_EQ(waits->got(), 1u);
  EXPECT_FALSE(waits->give_up());
}

TEST(AgentSlots, ALowerLimitAppliesToReturnedSlots) {
  OneAgent agent(3);
  std::vector<AgentSlot> taken;
  for (int i = 0; i < 3; ++i) taken.push_back(*agent.slots.try_take());
  const auto waits = waiter();
  agent.slots.join(waits, 0);
  agent.slots.rules({.most = 1});
  taken.pop_back();
  taken.pop_back();
  EXPECT_FALSE(waits->got());
  taken.pop_back();
  EXPECT_TRUE(waits->got());
  agent.slots.rules({});
  EXPECT_TRUE(agent.slots.try_take()) << "what was in flight is still counted";
  { const auto slot = agent.slots.take_granted(); }
  EXPECT_EQ(agent.in_flight(), 0u);
}

TEST(AgentSlots, AutoFollowsWhatItsAnswersTook) {
  OneAgent agent(0);
  agent.slots.rules({.automatic = true});
  EXPECT_EQ(agent.counters.most_in_flight.load(), 4u) << "until the baseline is known";
  TimePoint now{1h};
  const auto windows = [&](int many, Micros took) {
    for (; many > 0; --many) {
      agent.slots.refresh(now);
      for (int round = 0; round < 5; ++round) {
        std::vector<AgentSlot> taken;
        while (auto slot = agent.slots.try_take()) taken.push_back(*std::move(slot));
        for (auto& slot : taken) slot.answered(took);
      }
      now += 100ms;
    }
    agent.slots.refresh(now);
    return agent.counters.most_in_flight.load();
  };
  EXPECT_EQ(windows(4, 10ms), 20u);
  EXPECT_GT(windows(50, 10ms), 50u);
  EXPECT_LT(windows(50, 30ms), 20u);
  agent.slots.rules({.most = 6, .automatic = true});
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
      agents.back()->slots.rules({.most = most});
      mirrors.push_back(
          std::make_unique<Mirror>(agents.back(), std::vector<std::string>{"t"}, 1, Micros{60s}));
    }
    SetOptions options{.strategy = make_strategy("random", {}), .period = 60s};
    set = std::make_shared<MirrorSet>(std::move(mirrors), std::move(options), kNoLoops);
    set->read_limits();
  }
  std::uint32_t in_flight(std::size_t i) const { return agents[i]->counters.in_flight.load(); }
  std::uint32_t waiting(std::size_t i) const { return agents[i]->counters.waiting.load(); }
};

TEST(QueuedWait, TakesWhicheverPlaceIsFreedFirst) {
  Pair pair(1);
  EXPECT_TRUE(pair.set->full().empty());
  auto a = pair.agents[0]->slots.try_take();
  auto b = pair.agents[1]->slots.try_take();
  EXPECT_EQ(pair.set->full(), Candidates::first(2));
  EXPECT_EQ(pair.set->longest_queue(4), 8u);
  QueuedWait line(*pair.set, 0);
  line.wants(Candidates::first(2));
  line.wants(Candidates::first(2));
  EXPECT_EQ(pair.waiting(0), 1u);
  b.reset();
  ASSERT_EQ(line.waiter()->got(), 1u);
  auto got = line.take();
  ASSERT_TRUE(got);
  EXPECT_EQ(got->mirror, 1u);
  EXPECT_EQ(pair.waiting(0), 0u);
  EXPECT_EQ(pair.waiting(1), 0u);
  EXPECT_EQ(pair.in_flight(1), 1u);
  got.reset();
  EXPECT_EQ(pair.in_flight(1), 0u);
}

TEST(QueuedWait, AQueryThatLeavesPassesItsSlotOn) {
  Pair pair(1);
  auto a = pair.agents[0]->slots.try_take();
  std::optional<QueuedWait> first(std::in_place, *pair.set, 0);
  QueuedWait second(*pair.set, 0);
  Candidates only_a;
  only_a.insert(0);
  first->wants(only_a);
  second.wants(only_a);
  a.reset();
  EXPECT_TRUE(first->waiter()->got());
  first.reset();
  EXPECT_TRUE(second.waiter()->got());
}

// With many threads there are never more attempts than the limit, and no slot is lost (runs under
// TSan, too).
TEST(QueuedWait, ManyThreadsNeverExceedTheLimitAndLoseNothing) {
  constexpr unsigned kLimit = 3;
  constexpr int kRounds = 20'000;
  Pair pair(kLimit);
  std::atomic<int> inside[2] = {};
  std::atomic<bool> exceeded{false};
  std::atomic<std::uint64_t> served{0};
  const auto work = [&](unsigned seed) {
    SeededRandom random(seed);
    for (int i = 0; i < kRounds; ++i) {
      const auto use = [&](std::size_t mirror, const AgentSlot&) {
        if (inside[mirror].fetch_add(1) >= static_cast<int>(kLimit)) exceeded = true;
        if (random.below(8) == 0) std::this_thread::yield();
        inside[mirror].fetch_sub(1);
        ++served;
      };
      const auto at = random.below(2);
      if (auto slot = pair.agents[at]->slots.try_take()) {
        use(at, *slot);
        continue;
      }
      QueuedWait line(*pair.set, 0);
      line.wants(Candidates::first(2));
      for (auto patience = random.below(50); patience > 0 && !line.waiter()->got(); --patience)
        std::this_thread::yield();
      if (!line.waiter()->got() && random.below(2) == 0) continue;  // leaves
      while (!line.waiter()->got()) std::this_thread::yield();
      auto got = line.take();
      use(got->mirror, got->slot);
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 8; ++i) threads.emplace_back(work, i);
  for (auto& thread : threads) thread.join();
  EXPECT_FALSE(exceeded);
  EXPECT_GT(served, 0u);
  for (const std::size_t i : {0, 1}) {
    EXPECT_EQ(pair.in_flight(i), 0u);
    EXPECT_EQ(pair.waiting(i), 0u);
  }
}

}  // namespace
}  // namespace karmad
