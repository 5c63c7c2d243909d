#include "balancer/dispatch/retry_plan.hpp"

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
      {{}, 3, 1},                                        // one, on another mirror
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

/// A read that failed at the first of three mirrors, with plenty of time.
RetryState failed_once() {
  return {.outcome = Outcome::connect_failed, .tried = 1, .mirrors = 3, .left = 5s};
}

constexpr RetrySettings kTwoEach{.per_mirror = 2, .delay = 500ms};

TEST(NextAttempt, IsAtOnceWhileThereIsAMirrorThatWasNotTried) {
  auto state = failed_once();
  EXPECT_EQ(next_attempt(kTwoEach, state), 0us);
  state.tried = 2;
  state.retries_made = 1;
  EXPECT_EQ(next_attempt(kTwoEach, state), 0us);
}

TEST(NextAttempt, WaitsTheDelayOnceAllWereTried) {  // X-16, HA-026
  auto state = failed_once();
  state.tried = 3;
  state.retries_made = 2;
  EXPECT_EQ(next_attempt(kTwoEach, state), 500ms);
}

TEST(NextAttempt, StopsAtTheAllowedNumber) {
  auto state = failed_once();
  state.retries_made = 5;
  EXPECT_TRUE(next_attempt(kTwoEach, state));
  state.retries_made = 6;
  EXPECT_FALSE(next_attempt(kTwoEach, state));
}

TEST(NextAttempt, IsForMirrorTroubleOnly) {  // BP-060, HA-026: a query timeout is not retried
  const std::pair<Outcome, bool> expected[]{
      {Outcome::answered, false},       {Outcome::answered_with_warning, false},
      {Outcome::client_mistake, false}, {Outcome::agent_error, true},
      {Outcome::wrong_reply, true},     {Outcome::connect_failed, true},
      {Outcome::connect_timeout, true}, {Outcome::broken, true},
      {Outcome::closed_early, true},    {Outcome::query_timeout, false},
      {Outcome::cancelled, false},
  };
  for (const auto& [outcome, retried] : expected) {
    auto state = failed_once();
    state.outcome = outcome;
    EXPECT_EQ(next_attempt(kTwoEach, state).has_value(), retried) << name(outcome);
  }
}

TEST(NextAttempt, OfAnUpdateOnlyWhenNothingWasSent) {  // BP-060
  auto state = failed_once();
  state.read = false;
  EXPECT_TRUE(next_attempt(kTwoEach, state));
  state.sent = true;
  EXPECT_FALSE(next_attempt(kTwoEach, state));
}

TEST(NextAttempt, NeverPassesTheDeadline) {
  auto state = failed_once();
  state.left = 0us;
  EXPECT_FALSE(next_attempt(kTwoEach, state));
  state.left = -1us;
  EXPECT_FALSE(next_attempt(kTwoEach, state));
  state.tried = 3;
  state.left = 500ms;
  EXPECT_FALSE(next_attempt(kTwoEach, state));
  state.left = 501ms;
  EXPECT_TRUE(next_attempt(kTwoEach, state));
}

}  // namespace
}  // namespace karmad
