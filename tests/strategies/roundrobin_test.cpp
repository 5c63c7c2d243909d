#include "strategies/kinds/by_weight.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <optional>
#include <thread>
#include <vector>

#include "strategies/kinds/registry.hpp"
#include "tests/strategies/builders.hpp"
#include "tests/strategies/scripted_random.hpp"

namespace karmad {
namespace {

using testing::set_of;

class RoundRobinTest : public ::testing::Test {
 protected:
  std::size_t pick(Candidates avoided = {}) {
    testing::ScriptedRandom no_chance{};
    return testing::pick_any(mirrors_, avoided, strategy_, no_chance);
  }
  std::vector<std::size_t> picks(int count) {
    std::vector<std::size_t> taken;
    for (int i = 0; i < count; ++i) taken.push_back(pick());
    return taken;
  }

  std::vector<MirrorView> mirrors_{3};
  RoundRobin strategy_;
};

// Case 3, HA-004
TEST_F(RoundRobinTest, StartsAtTheFirstAndGoesAroundInOrder) {
  EXPECT_EQ(picks(7), (std::vector<std::size_t>{0, 1, 2, 0, 1, 2, 0}));
}

TEST_F(RoundRobinTest, FailedMirrorsKeepTheirTurn) {
  mirrors_[1] = {.errors_in_a_row = 50, .karma = 0, .rates = error_rates(0, 0, 50)};
  EXPECT_EQ(picks(4), (std::vector<std::size_t>{0, 1, 2, 0}));
}

TEST_F(RoundRobinTest, ARetryTakesNoTurn) {
  EXPECT_EQ(pick(), 0U);
  SeededRandom random(1);
  Candidates retried;
  for (int i = 0; i < 20; ++i)
    retried.insert(
        select({.avoided = set_of({0}), .takes_turn = false}, {}, mirrors_, strategy_, random)
            ->mirror);
  EXPECT_EQ(retried, set_of({1, 2})) << "both";
  EXPECT_EQ(picks(3), (std::vector<std::size_t>{1, 2, 0}));
}

/// The strategy of a set after a reload.
class RoundRobinAfterReload : public RoundRobinTest {
 protected:
  std::vector<std::size_t> after(std::vector<std::optional<std::size_t>> places, int count) {
    RoundRobin next;
    next.continue_from(strategy_, places);
    mirrors_.resize(places.size());
    std::vector<std::size_t> taken;
    testing::ScriptedRandom no_chance{};
    for (int i = 0; i < count; ++i)
      taken.push_back(testing::pick_any(mirrors_, {}, next, no_chance));
    return taken;
  }
};

TEST_F(RoundRobinAfterReload, TheOrderContinues) {
  picks(4);
  EXPECT_EQ(after({0, 1, 2}, 3), (std::vector<std::size_t>{1, 2, 0}));
  picks(2);  // the cursor is past the end
  EXPECT_EQ(after({0, 1, 2}, 3), (std::vector<std::size_t>{0, 1, 2}));
}

TEST_F(RoundRobinAfterReload, TheOrderContinuesWithTheNextMirrorThatIsLeft) {
  picks(1);
  EXPECT_EQ(after({0, std::nullopt, 2}, 2), (std::vector<std::size_t>{2, 0})) << "a new second";
  EXPECT_EQ(after({2, 1, 0}, 3), (std::vector<std::size_t>{1, 2, 0})) << "in another order";
  EXPECT_EQ(after({std::nullopt, 0, 1, 2}, 3), (std::vector<std::size_t>{2, 3, 0}));
  EXPECT_EQ(after({std::nullopt, std::nullopt}, 2), (std::vector<std::size_t>{0, 1}));
}

TEST_F(RoundRobinAfterReload, WeightsThatBeginToDifferOrNoLongerDoContinueTheOrder) {
  picks(1);
  mirrors_[0].weight = 2;
  EXPECT_EQ(after({0, 1, 2}, 3), (std::vector<std::size_t>{1, 2, 0})) << "0 has had its turn";
  EXPECT_EQ(picks(1), (std::vector<std::size_t>{1}));
  mirrors_[0].weight = 1;
  EXPECT_EQ(after({0, 1, 2}, 3), (std::vector<std::size_t>{2, 0, 1}));
}

TEST_F(RoundRobinAfterReload, AnotherStrategyLeavesNoOrder) {
  picks(1);
  RoundRobin next;
  next.continue_from(*make_strategy("random", {}),
                     std::vector<std::optional<std::size_t>>{0, 1, 2});
  testing::ScriptedRandom no_chance{};
  EXPECT_EQ(testing::pick_any(mirrors_, {}, next, no_chance), 0U);
}

TEST_F(RoundRobinTest, TheTurnOfAnAvoidedMirrorGoesToTheNextInOrder) {
  EXPECT_EQ(pick(set_of({0})), 1U);
  EXPECT_EQ(pick(set_of({2})), 0U);
}

TEST_F(RoundRobinTest, TakesNoMirrorTwiceInARowWhileThereIsAnother) {
  std::size_t before = 99;
  for (int i = 0; i < 50; ++i) {
    const auto taken = pick(i % 2 == 0 ? Candidates{} : set_of({1}));
    EXPECT_NE(taken, before);
    before = taken;
  }
}

TEST_F(RoundRobinTest, WhenAllAreAvoidedTheOrderGoesOn) {
  EXPECT_EQ(pick(Candidates::first(3)), 0U);
  EXPECT_EQ(pick(Candidates::first(3)), 1U);
}

TEST_F(RoundRobinTest, ASetOfOneHasTheSameMirrorEveryTime) {
  mirrors_.resize(1);
  EXPECT_EQ(picks(3), (std::vector<std::size_t>{0, 0, 0}));
}

TEST_F(RoundRobinTest, SixtyFourMirrorsGoAroundToo) {
  mirrors_.resize(64);
  for (std::size_t i = 0; i < 130; ++i) EXPECT_EQ(pick(), i % 64);
}

TEST_F(RoundRobinTest, WorkersTogetherTakeEveryMirrorEquallyOften) {
  constexpr int kEach = 3000;
  std::array<std::atomic<int>, 3> taken{};
  {
    std::vector<std::jthread> workers;
    for (int worker = 0; worker < 4; ++worker)
      workers.emplace_back([&] {
        testing::ScriptedRandom no_chance{};
        for (int i = 0; i < kEach; ++i)
          ++taken[testing::pick_any(mirrors_, {}, strategy_, no_chance)];
      });
  }
  for (const auto& count : taken) EXPECT_EQ(count, 4 * kEach / 3);
}

TEST_F(RoundRobinTest, WeightsGiveTurnsAtRegularIntervals) {
  mirrors_[0].weight = 5;
  const auto taken = picks(70);
  std::array<int, 3> of{};
  for (const auto mirror : taken) ++of[mirror];
  EXPECT_EQ(of, (std::array{50, 10, 10}));
  // Between two turns of a mirror with a seventh of the weight are five to seven of the others.
  for (const std::size_t light : {1U, 2U}) {
    std::optional<std::size_t> before;
    for (std::size_t i = 0; i < taken.size(); ++i) {
      if (taken[i] != light) continue;
      if (before) {
        EXPECT_NEAR(static_cast<double>(i - *before), 7, 1);
      }
      before = i;
    }
  }
}

TEST_F(RoundRobinTest, AMirrorThatWasNoCandidateDoesNotGetTheMissedTurns) {
  mirrors_[0].weight = 2;
  for (int i = 0; i < 100; ++i) pick(set_of({2}));
  std::array<int, 3> of{};
  for (const auto mirror : picks(40)) ++of[mirror];
  EXPECT_NEAR(of[0], 20, 1);
  EXPECT_NEAR(of[2], 10, 1);
}

TEST_F(RoundRobinTest, AWeightOfZeroIsUsedOnlyIfNoOtherMirrorSuits) {
  mirrors_[0].weight = mirrors_[2].weight = 0;
  EXPECT_EQ(picks(3), (std::vector<std::size_t>{1, 1, 1}));
  EXPECT_EQ(pick(set_of({1})), 2U);
}

}  // namespace
}  // namespace karmad
