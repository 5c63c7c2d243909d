// The limits of connections to one agent, for all workers together (SD-025, X-17).
#include "agent/mirrors/agent.hpp"
#include "agent/transport/destination.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "agent/transport/pool.hpp"
#include "tests/agent/transport/on_loop.hpp"
#include "tests/support/fake_mirror.hpp"

namespace karmad::test {
namespace {

using namespace std::chrono_literals;
using From = Pool::From;

/// A take() of a worker, which goes on by itself.
struct Taking {
  Taking(Loop& loop, Pool& pool) : stop(loop) { spawn(run(pool)); }
  Task<void> run(Pool& pool) { result = co_await pool.take(From::idle, stop); }
  bool done() const { return result.has_value(); }
  ConnectionPtr connection() { return std::move((*result)->connection); }
  Stop stop;
  std::optional<std::expected<Pool::Taken, NoConnection>> result;
};

/// An agent and some workers' pools of connections to it, all in this thread.
struct Workers {
  Workers(int port, unsigned number, ConnectionBounds bounds)
      : agent(std::make_shared<Agent>(
            Address{.host = "127.0.0.1", .port = static_cast<std::uint16_t>(port)}, 0, number,
            60s)) {
    agent->connections.change(bounds);
    for (unsigned i = 0; i < number; ++i) {
      loops.push_back(std::make_unique<Loop>(i, 1 << 20, i));
      pools.push_back(
          std::make_unique<Pool>(*loops[i], agent, agent->connections, LookUp::at_load));
    }
  }
  ~Workers() {
    for (auto& pool : pools) pool->clear();
    EXPECT_TRUE(turn_all([&] {
      return std::ranges::all_of(pools, [](const auto& pool) { return pool->unused(); });
    }));
  }

  /// Lets all loops turn until `condition` is true.
  template <class Condition>
  bool turn_all(Condition condition) {
    const auto end = std::chrono::steady_clock::now() + kSoon;
    while (!condition()) {
      if (std::chrono::steady_clock::now() > end) return false;
      for (auto& loop : loops) {
        loop->io.restart();
        loop->io.run_one_for(1ms);
      }
    }
    return true;
  }
  void settle() {
    for (int i = 0; i < 20; ++i)
      for (auto& loop : loops) {
        loop->io.restart();
        loop->io.poll();
      }
  }
  Taking& take(unsigned worker) {
    takings.push_back(std::make_unique<Taking>(*loops[worker], *pools[worker]));
    return *takings.back();
  }
  ConnectionPtr connection(unsigned worker) {
    auto& taking = take(worker);
    EXPECT_TRUE(turn_all([&] { return taking.done(); }));
    EXPECT_TRUE(*taking.result);
    return taking.connection();
  }
  unsigned open() const { return agent->counts.open; }

  std::shared_ptr<Agent> agent;
  std::vector<std::unique_ptr<Loop>> loops;
  std::vector<std::unique_ptr<Pool>> pools;
  std::vector<std::unique_ptr<Taking>> takings;
};

class SharedLimits : public testing::Test {
 protected:
  FakeMirror mirror{[](const std::string&) { return json("{}"); }};
};

TEST_F(SharedLimits, BoundTheConnectionsOfAllWorkersTogether) {  // SD-025
  Workers at(mirror.port(), 8, {.connections = 2});
  auto first = at.connection(0);
  auto second = at.connection(1);
  auto& third = at.take(2);
  at.settle();
  EXPECT_FALSE(third.done());
  EXPECT_EQ(at.open(), 2u);
  first->close();
  first.reset();
  ASSERT_TRUE(at.turn_all([&] { return third.done(); }));
  EXPECT_EQ(at.open(), 2u);
  third.connection()->close();
  second->close();
}

TEST_F(SharedLimits, BoundWhatIsKeptOfAllWorkersTogether) {
  Workers at(mirror.port(), 8, {.kept = 1});
  std::vector<ConnectionPtr> taken;
  for (unsigned i = 0; i < 8; ++i) taken.push_back(at.connection(i));
  for (unsigned i = 0; i < 8; ++i) at.pools[i]->give(std::move(taken[i]));
  at.settle();
  std::size_t idle = 0;
  for (const auto& pool : at.pools) idle += pool->idle();
  EXPECT_EQ(idle, 1u);
  EXPECT_EQ(at.open(), 1u);
}

TEST_F(SharedLimits, KeepAPartForEachWorkerThatNoOtherOneMayHave) {
  Workers at(mirror.port(), 2, {.connections = 8, .kept = 8});  // 2 are each worker's own
  std::vector<ConnectionPtr> greedy;
  for (int i = 0; i < 6; ++i) greedy.push_back(at.connection(0));
  auto& one_more = at.take(0);
  at.settle();
  EXPECT_FALSE(one_more.done());
  std::vector<ConnectionPtr> modest{at.connection(1), at.connection(1)};
  EXPECT_EQ(at.open(), 8u);
  for (auto& connection : greedy) at.pools[0]->give(std::move(connection));
  for (auto& connection : modest) at.pools[1]->give(std::move(connection));
  ASSERT_TRUE(at.turn_all([&] { return one_more.done(); }));
  EXPECT_EQ(at.pools[0]->idle(), 5u) << "one is taken again";
  EXPECT_EQ(at.pools[1]->idle(), 2u);
  one_more.connection()->close();
}

TEST_F(SharedLimits, CloseAnIdleConnectionForAWorkerThatHasNone) {
  Workers at(mirror.port(), 4, {.connections = 1});
  at.pools[0]->give(at.connection(0));
  ASSERT_EQ(at.pools[0]->idle(), 1u);
  auto connection = at.connection(3);
  EXPECT_EQ(at.pools[0]->idle(), 0u);
  EXPECT_EQ(at.open(), 1u);
  connection->close();
}

TEST_F(SharedLimits, GiveAReturnedConnectionToTheWorkerThatWaits) {
  Workers at(mirror.port(), 4, {.connections = 1});
  auto busy = at.connection(0);
  auto& second = at.take(1);
  auto& third = at.take(2);
  at.settle();
  at.pools[0]->give(std::move(busy));
  ASSERT_TRUE(at.turn_all([&] { return second.done(); }));
  at.settle();
  EXPECT_FALSE(third.done()) << "first come, first served";
  at.pools[1]->give(second.connection());
  ASSERT_TRUE(at.turn_all([&] { return third.done(); }));
  third.connection()->close();
}

TEST_F(SharedLimits, PassAFreeConnectionOnWhenAWorkerNoLongerWaits) {
  Workers at(mirror.port(), 4, {.connections = 1});
  auto busy = at.connection(0);
  auto& second = at.take(1);
  auto& third = at.take(2);
  second.stop.request(StopReason::cancelled);
  ASSERT_TRUE(second.done());
  busy->close();
  busy.reset();
  ASSERT_TRUE(at.turn_all([&] { return third.done(); }));
  third.connection()->close();
}

TEST_F(SharedLimits, OfAReloadTakeEffectForWaitingRequests) {
  Workers at(mirror.port(), 4, {.connections = 1});
  auto busy = at.connection(0);
  auto& second = at.take(1);
  auto& third = at.take(2);
  at.settle();
  at.agent->connections.change({.connections = 3});
  ASSERT_TRUE(at.turn_all([&] { return second.done() && third.done(); }));
  for (auto connection : {std::move(busy), second.connection(), third.connection()})
    connection->close();
}

// A refused connect of one worker is the result for all waiting requests of the other workers.
TEST(SharedLimitsWithoutAnAgent, TellAllWorkersThatItRefuses) {
  ClosedPort closed;
  Workers at(closed.port(), 4, {.connecting = 1});
  for (unsigned i = 0; i < 400; ++i) at.take(i % 4);
  ASSERT_TRUE(at.turn_all([&] {
    return std::ranges::all_of(at.takings, [](const auto& taking) { return taking->done(); });
  }));
  for (const auto& taking : at.takings)
    EXPECT_EQ(taking->result->error().outcome, Outcome::connect_failed);
}

TEST(SharedLimitsWithASlowAgent, BoundConnectsInProgressAndPassAFailureToOtherWorkers) {
  FullPort full;
  Workers at(std::atoi(full.address().c_str() + full.address().find(':') + 1), 4,
             {.connecting = 2});
  for (unsigned i = 0; i < 4; ++i) {
    at.take(i).stop.arm(Loop::now() + 200ms, StopReason::connect_timeout);
    at.settle();
  }
  EXPECT_EQ(at.agent->counts.waiting, 2u);
  ASSERT_TRUE(at.turn_all([&] {
    return std::ranges::all_of(at.takings, [](const auto& taking) { return taking->done(); });
  }));
  EXPECT_EQ(at.takings[0]->result->error().outcome, Outcome::connect_timeout);
  EXPECT_EQ(at.takings[1]->result->error().outcome, Outcome::connect_timeout);
}

}  // namespace
}  // namespace karmad::test
