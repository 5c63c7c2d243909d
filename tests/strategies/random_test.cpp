#include "strategies/kinds/by_weight.hpp"

#include <gtest/gtest.h>

#include "tests/strategies/builders.hpp"
#include "tests/strategies/scripted_random.hpp"

namespace karmad {
namespace {

TEST(Random, LooksAtNeitherHealthNorKarma) {  // HA-003
  const std::vector<MirrorView> mirrors{{.errors_in_a_row = 100, .karma = 0},
                                        {.karma = 50, .rates = error_rates(9, 0, 1)}};
  testing::ScriptedRandom chance{0.49, 0.51};
  EXPECT_EQ(testing::pick_any(mirrors, {}, Random{}, chance), 0U);
  EXPECT_EQ(testing::pick_any(mirrors, {}, Random{}, chance), 1U);
  EXPECT_DOUBLE_EQ(Random{}.shares(mirrors, Candidates::first(2))[0], 0.5);
}

}  // namespace
}  // namespace karmad
