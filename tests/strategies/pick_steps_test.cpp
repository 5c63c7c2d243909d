// What a selection hands over for explanations.

#include <gtest/gtest.h>

#include "strategies/kinds/registry.hpp"
#include "strategies/select.hpp"
#include "tests/strategies/builders.hpp"
#include "tests/strategies/pictures.hpp"
#include "tests/strategies/scripted_random.hpp"

namespace karmad {
namespace {

using namespace std::chrono_literals;
using testing::picture;
using testing::set_of;

TEST(PickSteps, HaveTheMirrorsThatAreLeftAfterEachStep) {
  // 0 is excluded, 1 was tried, 2 has errors in a row, 3 is far away.
  const auto near_and_far =
      picture(SetKind::roles, testing::with_rtt(Role::replica, {1ms, 1ms, 1ms, 90ms, 2ms, 1ms}));
  const auto mirrors = testing::with_errors_in_a_row({0, 0, 9, 0, 0, 0});
  const Need need{.preference = {.mode = Mode::nearest}};
  SelectionCriteria criteria{
      .need = &need, .avoided = set_of({1}), .excluded = set_of({0}), .window = 15ms};
  criteria.objections[AvoidReason::tried] = set_of({1});
  const Selector not_the_fifth = [](const SetDescription&, Candidates from) {
    return from - set_of({4});
  };
  criteria.selector = &not_the_fifth;
  PickSteps steps;
  testing::ScriptedRandom chance{0.25};
  const auto pick =
      select(criteria, near_and_far, mirrors, *make_strategy("nodeads", {}), chance, &steps);
  ASSERT_TRUE(pick);
  EXPECT_EQ(steps.suitable, set_of({1, 2, 3, 4, 5}));
  EXPECT_EQ(steps.fresh, set_of({2, 3, 4, 5}));
  EXPECT_EQ(steps.accepted, set_of({3, 4, 5}));
  EXPECT_EQ(steps.selected, set_of({3, 5}));
  EXPECT_EQ(steps.near, set_of({5}));
  EXPECT_EQ(steps.with(AvoidReason::tried), set_of({1}));
  EXPECT_EQ(steps.excluded, set_of({0}));
  EXPECT_EQ(steps.window, 15ms);
  EXPECT_FALSE(steps.any_mirror);
  EXPECT_EQ(steps.chosen, 5);
  EXPECT_EQ(pick->mirror, 5U);
}

TEST(PickSteps, HaveTheDraws) {
  const std::vector<MirrorView> mirrors(4);
  for (const auto name : strategy_names()) {
    SeededRandom alone(7);
    SeededRandom recorded(7);
    const auto strategy = make_strategy(name, {});
    const auto same = make_strategy(name, {});
    for (int i = 0; i < 50; ++i) {
      PickSteps steps;
      const auto pick = select({}, {}, mirrors, *strategy, recorded, &steps);
      EXPECT_EQ(pick, select({}, {}, mirrors, *same, alone)) << name;
      EXPECT_EQ(steps.chosen, pick->mirror);
      EXPECT_EQ(steps.draws.count() == 0, name == "roundrobin") << name;
      if (steps.draws.count() == 0) continue;
      const auto& draw = steps.draws[0];
      EXPECT_LT(draw.value, draw.below == 0 ? 1.0 : static_cast<double>(draw.below));
    }
  }
}

TEST(PickSteps, HaveNoChoiceWithoutASuitableMirror) {
  PickSteps steps;
  SeededRandom random(1);
  const std::vector<MirrorView> mirrors(2);
  EXPECT_FALSE(select({.excluded = set_of({0, 1})}, {}, mirrors, *make_strategy("random", {}),
                      random, &steps));
  EXPECT_FALSE(steps.chosen);
  EXPECT_TRUE(steps.near.empty());
  EXPECT_TRUE(steps.any_mirror);
}

TEST(PickSteps, CountDrawsThatTheyDoNotKeep) {
  Draws draws;
  for (std::size_t i = 0; i < Draws::kKept + 3; ++i) draws.add(10, static_cast<double>(i));
  EXPECT_EQ(draws.count(), Draws::kKept + 3);
  EXPECT_EQ(draws[Draws::kKept - 1].value, static_cast<double>(Draws::kKept - 1));
}

}  // namespace
}  // namespace karmad
