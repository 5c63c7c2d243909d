#include "strategies/select.hpp"

#include <gtest/gtest.h>

#include "strategies/registry.hpp"
#include "tests/strategies/builders.hpp"
#include "tests/strategies/scripted_random.hpp"

namespace karmad {
namespace {

using testing::set_of;

TEST(Select, FindsNothingInAnEmptySetOnly) {
  for (auto name : strategy_names()) {
    SeededRandom random(1);
    EXPECT_EQ(select({}, {}, *make_strategy(name, {}), random), std::nullopt) << name;
    EXPECT_EQ(select(std::vector<MirrorView>(1), {}, *make_strategy(name, {}), random), 0U);
  }
}

TEST(Select, NeverRepeatsAnAvoidedMirrorWhileThereIsAnother) {  // X-8, case 5
  const std::vector<MirrorView> mirrors(4);
  for (auto name : strategy_names()) {
    const auto strategy = make_strategy(name, {});
    SeededRandom random(2);
    for (int i = 0; i < 200; ++i)
      EXPECT_EQ(select(mirrors, set_of({0, 1, 3}), *strategy, random), 2U) << name;
  }
}

TEST(Select, TakesAnyMirrorWhenAllAreAvoided) {
  const std::vector<MirrorView> mirrors(3);
  for (auto name : strategy_names()) {
    const auto strategy = make_strategy(name, {});
    SeededRandom random(3);
    Candidates seen;
    for (int i = 0; i < 200; ++i)
      seen.insert(select(mirrors, Candidates::first(3), *strategy, random).value());
    EXPECT_EQ(seen, Candidates::first(3)) << name;
  }
}

TEST(Select, AvoidsBeforeItNarrows) {
  // the only living mirror was tried already: another try goes to the better of the dead ones
  const auto mirrors = testing::with_errors_in_a_row({0, 9, 5});
  testing::ScriptedRandom chance{0.0};
  EXPECT_EQ(select(mirrors, set_of({0}), *make_strategy("nodeads", {}), chance), 2U);
}

}  // namespace
}  // namespace karmad
