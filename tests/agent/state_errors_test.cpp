// Effects of errors of attempts on a set, and the freshness of its replicas.
#include <gtest/gtest.h>

#include <limits>

#include "strategies/read_preference.hpp"
#include "tests/agent/state_builders.hpp"

namespace karmad {
namespace {

using namespace testing;

// Errors in use

TEST(SetState, ForgetsAMirrorWhoseConnectionBrokeInUse) {  // SD-020
  auto state = settled();
  EXPECT_EQ(state.on_error(1, error(What::network), at(2s)),
            (Effects{.drop_idle = only(1), .cancel_ping = only(1)}));
  EXPECT_EQ(state.facts(1), MirrorFacts{.updated = at(2s)});
  EXPECT_EQ(state[1].generation, 1U);
  EXPECT_EQ(state[1].why, "so it is");
}

TEST(SetState, KeepsAMirrorAfterATimeoutInUse) {  // SD-021
  auto state = settled();
  const auto before = state.picture();
  EXPECT_EQ(state.on_error(1, error(What::timeout), at(2s)), Effects{});
  EXPECT_EQ(state.picture(), before);
  EXPECT_EQ(state[1].generation, 0U);
}

TEST(SetState, IgnoresErrorsWhileConnecting) {  // SD-022
  auto state = settled();
  const auto before = state.picture();
  for (const auto what : {What::network, What::timeout})
    EXPECT_EQ(state.on_error(1, error(what, When::connecting), at(2s)), Effects{});
  EXPECT_EQ(state.picture(), before);
  EXPECT_EQ(state[1].generation, 0U);
}

TEST(SetState, ForgetsAMirrorWhoseNameIsRefused) {  // SD-022
  auto state = settled();
  EXPECT_EQ(state.on_error(1, error(What::name_refused, When::connecting), at(2s)), Effects{});
  EXPECT_EQ(state.facts(1).role, Role::unknown);
}

TEST(SetState, ChecksAMirrorThatReportsAChangeOfItsState) {  // SD-023
  for (const auto what : {What::not_primary, What::recovering}) {
    auto state = settled();
    EXPECT_EQ(state.on_error(0, error(what), at(2s)), Effects{.check_now = only(0)});
    EXPECT_EQ(state.facts(0).role, Role::unknown);
    EXPECT_EQ(state[0].generation, 0U);
    EXPECT_EQ(state.primary(), std::nullopt);
  }
}

TEST(SetState, DropsTheConnectionsOfAMirrorThatShutsDown) {  // SD-023
  auto state = settled();
  EXPECT_EQ(state.on_error(0, error(What::shutting_down), at(2s)),
            (Effects{.check_now = only(0), .drop_idle = only(0)}));
  EXPECT_EQ(state[0].generation, 1U);
}

TEST(SetState, IgnoresErrorsOfConnectionsThatWereGivenUp) {  // SD-024
  auto state = settled();
  state.on_error(1, error(What::network), at(2s));
  state.answered(1, {.role = Role::replica}, 1ms, at(3s));
  const auto before = state.picture();
  for (const auto what : {What::network, What::not_primary, What::shutting_down})
    EXPECT_EQ(state.on_error(1, error(what), at(4s)), Effects{}) << "of generation 0";
  EXPECT_EQ(state.picture(), before);
  EXPECT_EQ(state[1].generation, 1U);

  auto newer = error(What::network);
  newer.generation = 1;
  EXPECT_FALSE(state.on_error(1, newer, at(5s)).drop_idle.empty());
}

TEST(SetState, TakesOverTheCountOfConnectionGenerations) {  // SD-024
  auto state = settled();
  state.generation(1, 7);
  auto old = error(What::network);
  old.generation = 6;
  EXPECT_EQ(state.on_error(1, old, at(2s)), Effects{});
  EXPECT_EQ(state.facts(1).role, Role::replica);
}

// Freshness

TEST(SetState, TakesTheTimeOfTheLastWriteAsReported) {
  const struct {
    std::int64_t told;
    std::optional<Micros> last_write;
  } cases[] = {{0, 0ms},
               {1'700'000'000'000, 1'700'000'000s},
               {-1, {}},
               {std::numeric_limits<std::int64_t>::max(), {}},
               {std::numeric_limits<std::int64_t>::min(), {}}};
  auto state = set_of(SetKind::roles);
  for (const auto& c : cases) {
    state.answered(1, {.role = Role::replica, .last_write_ms = c.told}, 1ms, at(1s));
    EXPECT_EQ(state.facts(1).last_write, c.last_write) << c.told;
  }
}

void says(SetState& state, std::size_t mirror, Role role, std::uint64_t generation, Micros now) {
  state.answered(mirror, {.role = role, .generation = generation}, 1ms, at(now));
}

std::optional<Micros> lag(const SetState& state, std::size_t mirror) {
  return staleness(state.picture(), mirror);
}

// SS-048 with an interval of 10 s: 10 s is what a replica has that misses nothing.
TEST(SetState, KnowsHowFarAReplicaIsBehindThePrimaryFromGenerations) {
  auto state = set_of(SetKind::roles);
  says(state, 0, Role::primary, 100, 60s);
  says(state, 1, Role::replica, 100, 61s);
  says(state, 2, Role::replica, 90, 62s);
  EXPECT_EQ(lag(state, 1), 10s);
  EXPECT_EQ(lag(state, 2), 12s) << "something newer was seen 2 s before it said so";

  says(state, 0, Role::primary, 110, 70s);
  EXPECT_EQ(lag(state, 1), 10s) << "its word is older than the new update";
  EXPECT_EQ(lag(state, 2), 12s);

  says(state, 1, Role::replica, 110, 71s);
  says(state, 2, Role::replica, 90, 72s);
  EXPECT_EQ(lag(state, 1), 10s);
  EXPECT_EQ(lag(state, 2), 22s);

  says(state, 2, Role::replica, 100, 82s);
  EXPECT_EQ(lag(state, 2), 22s) << "110 was first seen at 70";
  says(state, 2, Role::replica, 110, 92s);
  EXPECT_EQ(lag(state, 2), 10s);
}

TEST(SetState, TreatsAllAsFreshInASetWithoutUpdates) {
  auto state = set_of(SetKind::roles);
  for (auto now = 0s; now < 1h; now += 10s) {
    says(state, 0, Role::primary, 5, now);
    says(state, 1, Role::replica, 5, now + 3s);
  }
  EXPECT_EQ(lag(state, 1), 10s);
}

TEST(SetState, KnowsHowFarAReplicaIsBehindTheOthersFromGenerations) {  // SS-049
  auto state = set_of(SetKind::roles);
  says(state, 1, Role::replica, 100, 60s);
  says(state, 2, Role::replica, 90, 65s);
  EXPECT_EQ(lag(state, 1), 10s);
  EXPECT_EQ(lag(state, 2), 10s) << "fresh until 60, as the other one";
  says(state, 1, Role::replica, 100, 70s);
  says(state, 2, Role::replica, 90, 75s);
  EXPECT_EQ(lag(state, 1), 10s);
  EXPECT_EQ(lag(state, 2), 20s);
}

TEST(SetState, StartsCountingAgainWhenThePrimarysCounterFalls) {
  auto state = set_of(SetKind::roles);
  says(state, 0, Role::primary, 1000, 60s);
  says(state, 1, Role::replica, 1000, 60s);
  says(state, 0, Role::primary, 3, 70s);
  says(state, 1, Role::replica, 3, 71s);
  EXPECT_EQ(lag(state, 1), 10s);
  says(state, 0, Role::primary, 4, 80s);
  says(state, 1, Role::replica, 3, 95s);
  EXPECT_EQ(lag(state, 1), 25s);
}

TEST(SetState, ForgetsWhatOnlyTheFormerPrimaryHad) {
  auto state = set_of(SetKind::roles);
  says(state, 0, Role::primary, 100, 60s);
  says(state, 1, Role::replica, 99, 60s);
  says(state, 2, Role::replica, 99, 60s);
  state.failed(0, PingFailure::network, "gone", at(61s));
  says(state, 1, Role::primary, 99, 80s);
  says(state, 2, Role::replica, 99, 80s);
  EXPECT_EQ(lag(state, 2), 10s);
}

TEST(SetState, IgnoresAReplicaAheadOfItsPrimaryForFreshness) {
  auto state = set_of(SetKind::roles);
  says(state, 0, Role::primary, 100, 60s);
  says(state, 1, Role::replica, std::numeric_limits<std::uint64_t>::max(), 60s);
  says(state, 0, Role::primary, 101, 100s);
  says(state, 2, Role::replica, 90, 100s);
  EXPECT_EQ(lag(state, 2), 50s);
  EXPECT_EQ(lag(state, 1), 10s);
}

TEST(SetState, HasNoFreshnessIfTheMirrorReportsNone) {  // SS-046
  auto state = settled();
  EXPECT_EQ(state.facts(1).last_write, std::nullopt);
  EXPECT_EQ(lag(state, 1), std::nullopt);
}

}  // namespace
}  // namespace karmad
