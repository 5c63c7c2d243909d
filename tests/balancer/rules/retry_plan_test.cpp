#include "balancer/rules/retry_plan.hpp"

#include <gtest/gtest.h>

namespace karmad {
namespace {

using namespace std::chrono_literals;

TEST(RetriesAllowed, TheQueryCountsBeforeTheLineAndTheLineBeforeTheTable) {
  struct Case {
    RetrySettings settings;
    std::size_t mirrors;
    unsigned allowed;
  };
  const Case cases[]{
      {{}, 3, 2},                                        // each other mirror once
      {{}, 1, 0},                                        // there is no other
      {{.per_mirror = 0}, 3, 0},                         // set is set
      {{.per_mirror = 2}, 3, 6},                         // HA-026: count × mirrors
      {{.per_mirror = 2}, 1, 2},                         //
      {{.absolute_of_line = 4, .per_mirror = 2}, 3, 4},  // HA-026: absolute
      {{.absolute_of_line = 0, .per_mirror = 2}, 3, 0},  //
      {{.per_mirror_of_query = 1, .absolute_of_line = 4, .per_mirror = 2}, 3, 3},
      {{.per_mirror_of_query = 0, .absolute_of_line = 4}, 3, 0},
  };
  for (const auto& c : cases) EXPECT_EQ(retries_allowed(c.settings, c.mirrors), c.allowed);
}

}  // namespace
}  // namespace karmad
