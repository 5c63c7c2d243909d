// Which of several descriptions a set uses: versions, primaries, marks.
#include <gtest/gtest.h>

#include <string>

#include "tests/agent/state_builders.hpp"

namespace karmad {
namespace {

using namespace testing;

// Versions of the description

TEST(SetState, DoesNotUnderstandOtherVersionsOfTheDescription) {  // SS-121
  auto state = set_of(SetKind::roles);
  for (const auto api : {0U, 3U}) {
    state.answered(0, {.role = Role::primary, .api = api}, 1ms, at(1s));
    EXPECT_EQ(state.facts(0).role, Role::unknown) << api;
  }
  EXPECT_EQ(state[0].why, "its description has version 3, karmad understands 1 to 2");
}

TEST(SetState, IsIncompatibleWhenEveryMirrorWasLastHeardToBeSo) {  // SS-121
  auto state = set_of(SetKind::roles, {{.address = "a:1"}, {.address = "b:1"}});
  state.answered(0, {.role = Role::primary, .api = 9}, 1ms, at(1s));
  EXPECT_FALSE(state.picture().incompatible) << "nothing is known of b";
  state.answered(1, {.role = Role::replica, .api = 9}, 1ms, at(1s));
  EXPECT_TRUE(state.picture().incompatible);
  state.failed(1, PingFailure::network, "", at(2s));
  EXPECT_TRUE(state.picture().incompatible);
  state.answered(1, {.role = Role::replica}, 1ms, at(3s));
  EXPECT_FALSE(state.picture().incompatible);
}

// Primaries

TEST(SetState, HasOnePrimaryAtMost) {  // SD-014
  auto state = settled();
  EXPECT_EQ(state.primary(), 0U);
  EXPECT_EQ(state.answered(1, {.role = Role::primary}, 1ms, at(2s)), Effects{.check_now = only(0)});
  EXPECT_EQ(roles(state), (std::vector{Role::unknown, Role::primary, Role::replica}));
  EXPECT_EQ(state[0].why, "primary marked stale due to discovery of newer primary");
  EXPECT_EQ(state[0].generation, 0U) << "its connections stay";
  EXPECT_EQ(state.primary(), 1U);
}

struct SlotWaiter {
  unsigned api;
  std::optional<std::string> election_id;
  std::optional<std::int64_t> set_version;
};

/// Whether the second waiter beats the first one, of another mirror.
bool beats(const SlotWaiter& first, const SlotWaiter& second) {
  auto state = set_of(SetKind::roles);
  std::size_t mirror = 0;
  for (const auto& waiter : {first, second})
    state.answered(mirror++,
                   {.role = Role::primary,
                    .election_id = waiter.election_id,
                    .set_version = waiter.set_version,
                    .api = waiter.api},
                   1ms, at(1s));
  EXPECT_EQ(state.primary(), state.facts(1).role == Role::primary ? 1U : 0U);
  if (state.primary() == 0U) {
    EXPECT_EQ(state[1].why, "primary marked stale due to electionId/setVersion mismatch");
  }
  return state.primary() == 1U;
}

TEST(SetState, ComparesElectionsFirstAndThenSetVersions) {  // SD-014
  EXPECT_TRUE(beats({2, {}, {}}, {2, {}, {}})) << "the last claimant wins";
  EXPECT_TRUE(beats({2, "1", 5}, {2, "2", 4}));
  EXPECT_FALSE(beats({2, "2", 4}, {2, "1", 5}));
  EXPECT_TRUE(beats({2, "1", 4}, {2, "1", 5}));
  EXPECT_FALSE(beats({2, "1", 5}, {2, "1", 4}));
  EXPECT_TRUE(beats({2, "1", 5}, {2, "1", 5}));
  EXPECT_FALSE(beats({2, "1", 5}, {2, {}, 6})) << "a missing value is less than any";
  EXPECT_FALSE(beats({2, "1", 5}, {2, "1", {}}));
  EXPECT_FALSE(beats({2, "1", 5}, {2, {}, {}}));
  EXPECT_TRUE(beats({2, {}, 5}, {2, "1", 4}));
  EXPECT_FALSE(beats({2, {}, 2}, {2, {}, 1}));
}

TEST(SetState, ComparesElectionIdsAsNumbers) {  // SD-014
  EXPECT_TRUE(beats({2, "9", {}}, {2, "10", {}}));
  EXPECT_FALSE(beats({2, "10", {}}, {2, "9", {}}));
  EXPECT_TRUE(beats({2, "0009", {}}, {2, "10", {}}));
  EXPECT_TRUE(beats({2, "09", {}}, {2, "9", {}}));
  EXPECT_TRUE(beats({2, "", {}}, {2, "0", {}}));
  EXPECT_TRUE(beats({2, "7fffffff0000000000000009", {}}, {2, "7fffffff000000000000000a", {}}));
}

TEST(SetState, ComparesSetVersionsFirstInTheOlderDescription) {  // SD-014
  EXPECT_TRUE(beats({1, "2", 4}, {1, "1", 5}));
  EXPECT_FALSE(beats({1, "1", 5}, {1, "2", 4}));
  EXPECT_FALSE(beats({1, "2", 4}, {1, "1", 4}));
  EXPECT_TRUE(beats({1, "1", 4}, {1, "2", 4}));
  EXPECT_TRUE(beats({1, "1", 5}, {1, {}, 4})) << "both must be given to lose";
  EXPECT_TRUE(beats({1, "1", 5}, {1, "0", {}}));
  EXPECT_TRUE(beats({1, {}, 5}, {1, "1", 4}));
}

TEST(SetState, RemembersTheNewestElectionAfterItsWinnerIsGone) {  // SD-014
  auto state = set_of(SetKind::roles);
  state.answered(0, {.role = Role::primary, .election_id = "2"}, 1ms, at(1s));
  state.failed(0, PingFailure::network, "", at(2s));
  state.answered(1, {.role = Role::primary, .election_id = "1"}, 1ms, at(3s));
  EXPECT_EQ(state.primary(), std::nullopt);
}

TEST(SetState, RemembersTheGreatestSetVersionOfOlderDescriptions) {  // SD-014
  auto state = set_of(SetKind::roles);
  const auto waiters = [&](std::size_t mirror, std::optional<std::string> election_id,
                           std::int64_t set_version) {
    state.answered(mirror,
                   {.role = Role::primary,
                    .election_id = std::move(election_id),
                    .set_version = set_version,
                    .api = 1},
                   1ms, at(1s));
  };
  waiters(0, "1", 5);
  waiters(1, {}, 3);
  EXPECT_EQ(state.primary(), 1U);
  waiters(2, "1", 4);
  EXPECT_EQ(state.primary(), 1U);
}

TEST(SetState, ExcludesMirrorsOfAnotherSet) {  // SD-016
  SetState state({.kind = SetKind::roles, .name = "ours"}, three());
  state.answered(0, {.role = Role::primary, .set = "theirs"}, 1ms, at(1s));
  state.answered(1, {.role = Role::replica, .set = "ours"}, 1ms, at(1s));
  state.answered(2, {.role = Role::replica}, 1ms, at(1s));
  EXPECT_EQ(roles(state), (std::vector{Role::unknown, Role::replica, Role::replica}));
  EXPECT_EQ(state[0].why, "belongs to the set theirs, not ours");
  EXPECT_FALSE(state.mixed());
}

TEST(SetState, TakesAnySetWhereNoneIsConfigured) {  // SD-016
  auto state = set_of(SetKind::roles);
  state.answered(0, {.role = Role::replica, .set = "theirs"}, 1ms, at(1s));
  EXPECT_EQ(state.facts(0).role, Role::replica);
}

TEST(SetState, ExcludesAReplicaThatGoesByAnotherAddress) {  // SD-016
  auto state = set_of(SetKind::roles);
  state.answered(0, {.role = Role::primary, .me = "x:1"}, 1ms, at(1s));
  state.answered(1, {.role = Role::replica, .me = "x:1"}, 1ms, at(1s));
  state.answered(2, {.role = Role::replica, .me = "C:1"}, 1ms, at(1s));
  EXPECT_EQ(roles(state), (std::vector{Role::primary, Role::unknown, Role::replica}));
  EXPECT_EQ(state[1].why, "reports the address x:1, not b:1");
}

TEST(SetState, QuotesNoMoreThanALineOfAMirrorsWords) {
  SetState state({.kind = SetKind::roles, .name = "ours"}, three());
  state.answered(0, {.role = Role::replica, .set = std::string(100'000, 'x')}, 1ms, at(1s));
  EXPECT_LT(state[0].why.size(), 200U);
}

// Version marks

TEST(SetState, IgnoresAnAnswerThatIsOlderThanWhatIsKnown) {  // SD-009, SD-015
  const struct {
    std::optional<VersionMark> known;
    std::optional<VersionMark> told;
    bool taken;
  } cases[] = {{kSecond, kFirst, false}, {kSecond, kSecond, true}, {kFirst, kSecond, true},
               {kSecond, kOther, true},  {kSecond, {}, true},      {{}, kFirst, true}};
  for (const auto& c : cases) {
    auto state = set_of(SetKind::roles);
    state.answered(0, {.role = Role::replica, .version = c.known}, 1ms, at(1s));
    state.answered(0, {.role = Role::primary, .version = c.told}, 1ms, at(2s));
    EXPECT_EQ(state.facts(0).role, c.taken ? Role::primary : Role::replica);
    EXPECT_EQ(state.facts(0).updated, at(c.taken ? 2s : 1s));
  }
}

TEST(SetState, IgnoresAnErrorThatIsNoNewerThanWhatIsKnown) {  // SD-015
  const struct {
    std::optional<VersionMark> known;
    std::optional<VersionMark> carried;
    bool taken;
  } cases[] = {{kSecond, kFirst, false}, {kSecond, kSecond, false}, {kFirst, kSecond, true},
               {kSecond, kOther, true},  {kSecond, {}, true},       {{}, kFirst, true}};
  for (const auto& c : cases) {
    auto state = set_of(SetKind::roles);
    state.answered(0, {.role = Role::primary, .version = c.known}, 1ms, at(1s));
    auto met = error(What::not_primary);
    met.version = c.carried;
    const auto effects = state.on_error(0, met, at(2s));
    EXPECT_EQ(state.facts(0).role, c.taken ? Role::unknown : Role::primary);
    EXPECT_EQ(effects, c.taken ? Effects{.check_now = only(0)} : Effects{});
  }
}

TEST(SetState, LetsNoOlderAnswerUndoAnError) {  // SD-015
  auto state = set_of(SetKind::roles);
  state.answered(0, {.role = Role::primary, .version = kFirst}, 1ms, at(1s));
  auto met = error(What::not_primary);
  met.version = kSecond;
  state.on_error(0, met, at(2s));
  state.answered(0, {.role = Role::primary, .version = kFirst}, 1ms, at(3s));
  EXPECT_EQ(state.facts(0).role, Role::unknown);
  state.answered(0, {.role = Role::replica, .version = kSecond}, 1ms, at(4s));
  EXPECT_EQ(state.facts(0).role, Role::replica);
}

TEST(SetState, KeepsNoVersionMarkOfAMirrorItLost) {  // SD-015
  auto state = set_of(SetKind::roles);
  const auto answers = [&](std::size_t mirror, const VersionMark& version) {
    return state.answered(mirror, {.role = Role::primary, .version = version}, 1ms, at(1s));
  };
  answers(0, kSecond);
  state.failed(0, PingFailure::network, "", at(2s));
  answers(0, kFirst);
  EXPECT_EQ(state.primary(), 0U) << "after a failed ping";

  answers(0, kSecond);
  answers(1, kOther);
  answers(0, kFirst);
  EXPECT_EQ(state.primary(), 0U) << "after another claimed to be the primary";
}

}  // namespace
}  // namespace karmad
