#include "balancer/selection/shard_query.hpp"

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <vector>

#include "tests/balancer/topology/built.hpp"

namespace karmad {
namespace {

using Parts = std::vector<double>;

/// A table with one shard of three mirrors, and a worker without a network.
struct FirstPick : ::testing::Test {
  void build(const std::string& settings = {}, const std::string& agents = "a:1|b:1|c:1") {
    ASSERT_TRUE(built.build("table t {\n type = distributed\n updates = any\n agent = " + agents +
                            "\n" + settings + "\n}\n"));
    worker.emplace(0, 1, shared, built.now, std::span<const std::unique_ptr<Worker>>());
  }
  const Table& table() const { return *built.now->find("t"); }
  const Shard& shard() const { return *table().shards.front(); }
  Parts shares() {
    const Selection selection(std::nullopt, table(), built.now->settings,
                              SelectionClass::may_use_secondary);
    return first_pick_shares({*built.now, table(), shard(), selection, *worker});
  }
  void fail(std::size_t mirror, Outcome outcome, bool silent = false) const {
    shard().protection->standings.ended(mirror, outcome, silent);
    (*shard().mirrors)[mirror].agent->counters.errors_in_a_row.fetch_add(1);
  }
  void serve(std::array<ServiceState, 3> states) const {
    std::array<MirrorService, 3> service;
    for (std::size_t i = 0; i < 3; ++i) service[i].state = states[i];
    shard().mirrors->serve(service, Loop::now());
  }

  Built built;
  SharedState shared;
  std::optional<Worker> worker;
};

TEST_F(FirstPick, SharesAreEqualWhereNothingIsKnown) {
  build();
  for (const auto share : shares()) EXPECT_DOUBLE_EQ(share, 1.0 / 3);
}

TEST_F(FirstPick, AMirrorThatRefusesConnectionsIsNotPickedWithAnyStrategy) {
  for (const auto* strategy :
       {"random", "roundrobin", "nodeads", "noerrors", "leastops", "adaptive", "prequal", "ars"}) {
    build(std::string(" ha_strategy = ") + strategy);
    fail(1, Outcome::connect_failed);
    const auto parts = shares();
    EXPECT_EQ(parts[1], 0) << strategy;
    EXPECT_DOUBLE_EQ(parts[0] + parts[2], 1) << strategy;
    built.now.reset();
  }
}

TEST_F(FirstPick, ASilentMirrorIsNotPicked) {
  build();
  fail(2, Outcome::query_timeout, true);
  EXPECT_EQ(shares(), (Parts{0.5, 0.5, 0}));
}

TEST_F(FirstPick, ADrainedMirrorIsNotPickedAlsoIfTheOthersCannotBeReached) {
  build();
  serve({ServiceState::drain, ServiceState::ready, ServiceState::maint});
  EXPECT_EQ(shares(), (Parts{0, 1, 0}));
  fail(1, Outcome::connect_failed);
  EXPECT_EQ(shares(), (Parts{0, 1, 0})) << "the only one that may be asked";
  serve({ServiceState::drain, ServiceState::drain, ServiceState::maint});
  EXPECT_EQ(shares(), (Parts{0, 0, 0})) << "a search is refused";
}

TEST_F(FirstPick, AMirrorWithAnOpenBreakerIsNotPicked) {
  build(" breaker = 1");
  for (int i = 0; i < 11; ++i) shard().protection->breaker->failed(0, Operation::read, Loop::now());
  EXPECT_EQ(shares(), (Parts{0, 0.5, 0.5}));
}

TEST_F(FirstPick, AllAreAskedWhereNoneCanBeReached) {
  build();
  for (const std::size_t mirror : {0, 1, 2}) fail(mirror, Outcome::connect_failed);
  for (const auto share : shares()) EXPECT_DOUBLE_EQ(share, 1.0 / 3);
}

// A search that finds all full waits for a slot.
TEST_F(FirstPick, AFullMirrorIsNotPickedUnlessAllAreFull) {
  build(" max_in_flight = 1");
  auto& set = *shard().mirrors;
  built.now->apply_limits(Loop::now());
  std::vector<std::optional<AgentSlot>> slots;
  slots.push_back(set[0].agent->slots.try_take());
  EXPECT_EQ(shares(), (Parts{0, 0.5, 0.5}));
  for (const std::size_t mirror : {1, 2}) slots.push_back(set[mirror].agent->slots.try_take());
  for (const auto share : shares()) EXPECT_DOUBLE_EQ(share, 1.0 / 3);
}

}  // namespace
}  // namespace karmad
