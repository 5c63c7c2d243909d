#include "strategies/select.hpp"

#include <gtest/gtest.h>

#include "strategies/kinds/registry.hpp"
#include "tests/strategies/builders.hpp"
#include "tests/strategies/pictures.hpp"
#include "tests/strategies/scripted_random.hpp"

namespace karmad {
namespace {

using namespace std::chrono_literals;
using testing::mirror;
using testing::pick_any;
using testing::picture;
using testing::set_of;

TEST(Select, FindsNothingInAnEmptySetOnly) {
  for (auto name : strategy_names()) {
    SeededRandom random(1);
    EXPECT_EQ(select({}, {}, {}, *make_strategy(name, {}), random), std::nullopt) << name;
    EXPECT_EQ(pick_any(std::vector<MirrorView>(1), {}, *make_strategy(name, {}), random), 0U);
  }
}

TEST(Select, NeverRepeatsAnAvoidedMirrorWhileThereIsAnother) {  // X-8, case 5
  const std::vector<MirrorView> mirrors(4);
  for (auto name : strategy_names()) {
    const auto strategy = make_strategy(name, {});
    SeededRandom random(2);
    for (int i = 0; i < 200; ++i)
      EXPECT_EQ(pick_any(mirrors, set_of({0, 1, 3}), *strategy, random), 2U) << name;
  }
}

TEST(Select, TakesAnyMirrorWhenAllAreAvoided) {
  const std::vector<MirrorView> mirrors(3);
  for (auto name : strategy_names()) {
    const auto strategy = make_strategy(name, {});
    SeededRandom random(3);
    Candidates seen;
    for (int i = 0; i < 200; ++i)
      seen.insert(pick_any(mirrors, Candidates::first(3), *strategy, random));
    EXPECT_EQ(seen, Candidates::first(3)) << name;
  }
}

TEST(Select, AvoidsBeforeItNarrows) {
  // the only living mirror was tried already: another try goes to the better of the dead ones
  const auto mirrors = testing::with_errors_in_a_row({0, 9, 5});
  testing::ScriptedRandom chance{0.0};
  EXPECT_EQ(pick_any(mirrors, set_of({0}), *make_strategy("nodeads", {}), chance), 2U);
}

TEST(Select, DoesNotLookAtThePictureWhenNothingIsNeeded) {
  auto set = picture(SetKind::unknown, {mirror(Role::unknown), mirror(Role::ghost)});
  set.incompatible = true;
  const std::vector<MirrorView> mirrors(2);
  EXPECT_EQ(acceptable({}, set, mirrors, *make_strategy("random", {})), Candidates::first(2));
}

class SelectWithNeed : public ::testing::Test {
 protected:
  Candidates left(const SelectionCriteria& criteria, const SetDescription& set) const {
    return acceptable(criteria, set, std::vector<MirrorView>(set.mirrors.size()), *strategy_);
  }
  std::optional<std::size_t> pick(const SelectionCriteria& criteria, const SetDescription& set) {
    const std::vector<MirrorView> views(set.mirrors.size());
    const auto picked = select(criteria, set, views, *strategy_, random_);
    return picked ? std::optional(picked->mirror) : std::nullopt;
  }

  std::unique_ptr<Strategy> strategy_ = make_strategy("leastops", {});
  SeededRandom random_{4};
  SetDescription set_ = picture(SetKind::roles, {mirror(Role::primary), mirror(Role::replica),
                                                 mirror(Role::replica), mirror(Role::other)});
};

TEST_F(SelectWithNeed, ATriedReplicaMakesRoomForThePrimaryAndTheOtherWayRound) {  // SS-122, SS-146
  const Need replicas{.preference = {.mode = Mode::secondary_preferred}};
  EXPECT_EQ(left({.need = &replicas, .avoided = set_of({1})}, set_), set_of({2}));
  EXPECT_EQ(left({.need = &replicas, .avoided = set_of({1, 2})}, set_), set_of({0}));
  EXPECT_EQ(left({.need = &replicas, .avoided = set_of({0, 1, 2})}, set_), set_of({1, 2}));
  const Need primary{.preference = {.mode = Mode::primary_preferred}};
  EXPECT_EQ(left({.need = &primary, .avoided = set_of({0})}, set_), set_of({1, 2}));
  EXPECT_EQ(left({.need = &primary, .avoided = set_of({0, 1, 2, 3})}, set_), set_of({0}));
}

TEST_F(SelectWithNeed, AnUpdateComesBackToATriedPrimary) {  // SS-122, SS-144
  const Need write{.operation = Operation::write, .preference = {}};
  EXPECT_EQ(pick({.need = &write, .avoided = set_of({0})}, set_), 0U);
}

TEST_F(SelectWithNeed, FindsNothingWithoutASuitableMirror) {
  const Need tagged{.preference = {.mode = Mode::nearest, .tag_sets = testing::tag_sets("dc:ny")}};
  EXPECT_EQ(pick({.need = &tagged}, set_), std::nullopt);
  const Need any{.preference = {.mode = Mode::nearest}};
  set_.incompatible = true;  // SS-121
  EXPECT_EQ(pick({.need = &any}, set_), std::nullopt);
}

TEST_F(SelectWithNeed, DirectAndBalancedSetsWithAnUnknownMirror) {  // SS-141, SS-142
  const Need any{.preference = {.mode = Mode::nearest}};
  EXPECT_EQ(pick({.need = &any}, picture(SetKind::direct, {mirror(Role::unknown)})), std::nullopt);
  EXPECT_EQ(pick({.need = &any, .window = Micros(0)},
                 picture(SetKind::balanced, {mirror(Role::unknown)})),
            0U);
}

TEST_F(SelectWithNeed, TheSelectorIsCalledExactlyWhenAMirrorIsSuitable) {  // SS-020
  int calls = 0;
  Candidates offered;
  const Selector selector = [&](const SetDescription&, Candidates suitable) {
    ++calls;
    offered = suitable;
    return set_of({2});
  };
  const Need replica{.preference = {.mode = Mode::secondary}};
  const SelectionCriteria criteria{.need = &replica, .selector = &selector};
  EXPECT_EQ(pick(criteria, set_), 2U);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(offered, set_of({1, 2}));
  EXPECT_EQ(pick(criteria, picture(SetKind::roles, {mirror(Role::primary)})), std::nullopt);
  EXPECT_EQ(calls, 1);
}

TEST_F(SelectWithNeed, TheSelectorMayLeaveNothingAndAddsNothing) {  // SS-020, SS-123
  const Need replica{.preference = {.mode = Mode::secondary}};
  const Selector none = [](const SetDescription&, Candidates) { return Candidates{}; };
  EXPECT_EQ(pick({.need = &replica, .selector = &none}, set_), std::nullopt);
  const Selector strangers = [](const SetDescription&, Candidates) { return set_of({0, 3, 63}); };
  EXPECT_EQ(pick({.need = &replica, .selector = &strangers}, set_), std::nullopt);
}

TEST_F(SelectWithNeed, TheSelectorSeesWhatTheStrategyAccepts) {  // SS-123
  Candidates offered;
  const Selector selector = [&](const SetDescription&, Candidates suitable) {
    offered = suitable;
    return suitable;
  };
  const Need any{.preference = {.mode = Mode::nearest}};
  acceptable({.need = &any, .selector = &selector}, set_,
             testing::with_errors_in_a_row({0, 9, 0, 0}), *make_strategy("nodeads", {}));
  EXPECT_EQ(offered, set_of({0, 2}));
}

TEST_F(SelectWithNeed, StrategyExclusionsNeverLeaveNothing) {  // HA-022, HA-023
  const Need replica{.preference = {.mode = Mode::secondary}};
  EXPECT_EQ(acceptable({.need = &replica}, set_, testing::with_errors_in_a_row({0, 9, 7, 0}),
                       *make_strategy("nodeads", {})),
            set_of({2}));
}

TEST_F(SelectWithNeed, TheWindowStartsAtTheFastestRemainingMirror) {  // SS-124, SS-155
  auto set = picture(SetKind::roles, testing::with_rtt(Role::replica, {26ms, 5ms, 100ms}));
  set.mirrors[1].role = Role::primary;
  const Need replica{.preference = {.mode = Mode::secondary}};
  EXPECT_EQ(left({.need = &replica, .window = 15ms}, set), set_of({0}));
  EXPECT_EQ(left({.need = &replica}, set), set_of({0, 2}));  // none asked for
  const Selector slow = [](const SetDescription&, Candidates) { return set_of({2}); };
  EXPECT_EQ(left({.need = &replica, .window = 15ms, .selector = &slow}, set), set_of({2}));
}

TEST_F(SelectWithNeed, APickIsNotPinnedToAMirror) {  // SS-156
  const Need replica{.preference = {.mode = Mode::secondary}};
  Candidates seen;
  for (int i = 0; i < 100; ++i) seen.insert(pick({.need = &replica}, set_).value());
  EXPECT_EQ(seen, set_of({1, 2}));
}

TEST_F(SelectWithNeed, AConfiguredStrategyPicksInsideTheWindow) {
  const auto set = picture(SetKind::flat, testing::with_rtt(Role::router, {5ms, 90ms, 6ms}));
  const Need any{.preference = {.mode = Mode::nearest}};
  const auto strategy = make_strategy("roundrobin", {});
  const std::vector<MirrorView> views(3);
  for (const auto expected : {0U, 2U, 0U, 2U})
    EXPECT_EQ(select({.need = &any, .window = 15ms}, set, views, *strategy, random_)->mirror,
              expected);
}

TEST(Select, ReportsItsCandidates) {
  const auto set = picture(SetKind::flat, {mirror(Role::router), mirror(Role::router),
                                           mirror(Role::router), mirror(Role::unknown)});
  const std::vector<MirrorView> mirrors(4);
  SeededRandom random(1);
  const Need any{.preference = {.mode = Mode::nearest}};
  const auto picked = select({.need = &any, .avoided = set_of({0}), .excluded = set_of({1})}, set,
                             mirrors, *make_strategy("random", {}), random);
  EXPECT_EQ(picked, (Pick{.mirror = 2, .suitable = set_of({0, 2}), .acceptable = set_of({2})}));
}

TEST(Select, OutOfTurnTheOrderOfRoundRobinStaysAsItIs) {
  const auto strategy = make_strategy("roundrobin", {});
  const std::vector<MirrorView> mirrors(3);
  SeededRandom random(1);
  std::array<int, 3> drawn{};
  for (int i = 0; i < 300; ++i)
    ++drawn[select({.excluded = set_of({1}), .takes_turn = false}, {}, mirrors, *strategy, random)
                ->mirror];
  EXPECT_EQ(drawn[1], 0);
  EXPECT_NEAR(drawn[0], 150, 40);
  EXPECT_EQ(select({}, {}, mirrors, *strategy, random)->mirror, 0U);
}

}  // namespace
}  // namespace karmad
