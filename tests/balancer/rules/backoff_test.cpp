#include "balancer/rules/retry_plan.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace karmad {
namespace {

using namespace std::chrono_literals;

constexpr Doubling kDefault{100ms, 10s};

TEST(Backoff, DoublesUpToItsCap) {  // BP-007, X-3
  const Micros before_jitter[]{100ms, 200ms, 400ms, 800ms, 1600ms, 3200ms, 6400ms, 10s, 10s};
  for (unsigned retry = 1; const auto wanted : before_jitter)
    EXPECT_EQ(backoff(kDefault, retry++, 1.0), wanted);
}

TEST(Backoff, IsScaledByChanceAsAWhole) {  // BP-007
  Micros nearly_one{};
  Micros zero{};
  for (unsigned retry = 1; retry <= 5; ++retry) {
    nearly_one += backoff(kDefault, retry, 1.0);
    zero += backoff(kDefault, retry, 0.0);
  }
  EXPECT_EQ(nearly_one, 3100ms);
  EXPECT_EQ(zero, 0ms);
  EXPECT_EQ(backoff(kDefault, 3, 0.25), 100ms);
}

TEST(Backoff, StaysWithinItsCapForAnyNumber) {
  EXPECT_EQ(backoff(kDefault, std::numeric_limits<unsigned>::max(), 1.0), 10s);
  EXPECT_EQ(backoff({24h, 24h}, 64, 1.0), 24h);
  EXPECT_EQ(backoff({10s, 1s}, 1, 1.0), 1s);
  EXPECT_EQ(backoff(kDefault, 0, 1.0), 100ms);
}

}  // namespace
}  // namespace karmad
