#include "strategies/kinds/registry.hpp"

#include <gtest/gtest.h>

#include "tests/strategies/builders.hpp"
#include "tests/strategies/scripted_random.hpp"

namespace karmad {
namespace {

TEST(Registry, KnowsEveryStrategyAndTheDefaultFirst) {  // HA-002
  const auto names = strategy_names();
  EXPECT_EQ(std::vector<std::string_view>(names.begin(), names.end()),
            (std::vector<std::string_view>{"random", "roundrobin", "nodeads", "noerrors",
                                           "leastops", "adaptive", "prequal", "ars"}));
  for (auto name : names) EXPECT_NE(make_strategy(name, {}), nullptr) << name;
}

TEST(Registry, SlowStartIsOnByDefaultWithStrategiesThatReactAtOnce) {
  for (const auto name : strategy_names())
    EXPECT_EQ(reacts_at_once(name), name == "adaptive" || name == "prequal" || name == "ars");
  EXPECT_FALSE(reacts_at_once("none"));
}

TEST(Registry, MakesNothingOfAnUnknownName) {
  for (auto name : {"", "Random", "leastconn", "random "})
    EXPECT_EQ(make_strategy(name, {}), nullptr) << name;
}

TEST(Registry, HandsTheToleratedErrorsToNodeads) {  // HA-022
  const auto mirrors = testing::with_errors_in_a_row({1, 0});
  testing::ScriptedRandom chance{0.0, 0.0};
  EXPECT_EQ(testing::pick_any(mirrors, {}, *make_strategy("nodeads", {}), chance), 0U);
  EXPECT_EQ(testing::pick_any(mirrors, {}, *make_strategy("nodeads", {.dead_after = 0}), chance),
            1U);
}

TEST(Registry, EveryRoundRobinHasACursorOfItsOwn) {
  const std::vector<MirrorView> mirrors(2);
  testing::ScriptedRandom no_chance{};
  EXPECT_EQ(testing::pick_any(mirrors, {}, *make_strategy("roundrobin", {}), no_chance), 0U);
  EXPECT_EQ(testing::pick_any(mirrors, {}, *make_strategy("roundrobin", {}), no_chance), 0U);
}

}  // namespace
}  // namespace karmad
