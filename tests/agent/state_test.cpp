#include "agent/state.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "strategies/read_preference.hpp"

namespace karmad {
namespace {

using namespace std::chrono_literals;

using What = UseError::What;
using When = UseError::When;

TimePoint at(Micros since_epoch) {
  return TimePoint{since_epoch};
}

Candidates only(std::size_t mirror) {
  Candidates one;
  one.insert(mirror);
  return one;
}

std::vector<Member> three() {
  return {{.address = "a:1"}, {.address = "b:1"}, {.address = "c:1"}};
}

SetState set_of(SetKind kind, std::vector<Member> members = three()) {
  return {{.kind = kind, .ping_interval = 10s}, std::move(members)};
}

/// a is the primary, b and c are replicas, all within the first second.
SetState settled() {
  auto state = set_of(SetKind::roles);
  state.answered(0, {.role = Role::primary}, 1ms, at(1s));
  state.answered(1, {.role = Role::replica}, 2ms, at(1s));
  state.answered(2, {.role = Role::replica}, 3ms, at(1s));
  return state;
}

std::vector<Role> roles(const SetState& state) {
  std::vector<Role> all;
  for (const auto& mirror : state.picture().mirrors) all.push_back(mirror.role);
  return all;
}

UseError error(What what, When when = When::in_use) {
  return {.when = when, .what = what, .why = "so it is"};
}

const VersionMark kFirst{"process", 1};
const VersionMark kSecond{"process", 2};
const VersionMark kOther{"another", 1};

// Pings

TEST(SetState, KnowsNothingAtFirst) {
  const auto state = set_of(SetKind::unknown);
  EXPECT_EQ(state.picture().kind, SetKind::unknown);
  EXPECT_EQ(roles(state), std::vector(3, Role::unknown));
  EXPECT_EQ(state.primary(), std::nullopt);
  EXPECT_FALSE(state.picture().incompatible);
  EXPECT_FALSE(state.mixed());
}

TEST(SetState, ForgetsAMirrorWhosePingFailed) {  // SD-008, SS-151
  auto state = settled();
  EXPECT_EQ(state.facts(1).rtt, 2ms);
  const auto effects = state.failed(1, PingFailure::answer, "status 500", at(2s));
  EXPECT_EQ(effects, Effects{.drop_idle = only(1)});
  EXPECT_EQ(state.facts(1), MirrorFacts{.updated = at(2s)});
  EXPECT_EQ(state[1].why, "status 500");
  EXPECT_EQ(state[1].generation, 1U);
  EXPECT_EQ(state[1].trips.average(), std::nullopt);
}

TEST(SetState, PingsAKnownMirrorOnceMoreAfterANetworkError) {  // SD-008
  auto state = settled();
  EXPECT_EQ(state.failed(1, PingFailure::network, "refused", at(2s)),
            (Effects{.check_now = only(1), .drop_idle = only(1)}));
  EXPECT_EQ(state.failed(1, PingFailure::network, "refused again", at(3s)), Effects{});
  EXPECT_EQ(state[1].why, "refused again");
  EXPECT_EQ(state[1].generation, 1U);
}

TEST(SetState, GivesUpConnectionsInUseAfterAPingTimedOut) {  // SD-008
  auto state = settled();
  EXPECT_EQ(state.failed(1, PingFailure::timeout, "too slow", at(2s)),
            (Effects{.drop_idle = only(1)}));
}

TEST(SetState, DropsTheConnectionsOfAMirrorThatWasUnknownForAnotherReason) {  // SD-008
  auto state = settled();
  state.met(1, error(What::recovering), at(2s));
  EXPECT_EQ(state[1].generation, 0U);
  EXPECT_EQ(state.failed(1, PingFailure::network, "refused", at(3s)),
            Effects{.drop_idle = only(1)});
  EXPECT_EQ(state[1].generation, 1U);
}

TEST(SetState, DropsNothingOfAMirrorThatNeverAnswered) {  // SD-008
  auto state = set_of(SetKind::roles);
  EXPECT_EQ(state.failed(1, PingFailure::network, "refused", at(2s)), Effects{});
  EXPECT_EQ(state[1].generation, 0U);
}

TEST(SetState, ReplacesADescriptionAsAWhole) {  // SD-009
  auto state = set_of(SetKind::roles);
  state.answered(1, {.role = Role::replica, .tags = {{"dc", "ny"}}, .last_write_ms = 5}, 1ms,
                 at(1s));
  EXPECT_EQ(state.facts(1), (MirrorFacts{.role = Role::replica,
                                         .tags = {{"dc", "ny"}},
                                         .rtt = 1ms,
                                         .last_write = 5ms,
                                         .updated = at(1s)}));
  state.answered(1, {.role = Role::replica}, 1ms, at(2s));
  EXPECT_EQ(state.facts(1), (MirrorFacts{.role = Role::replica, .rtt = 1ms, .updated = at(2s)}));
}

TEST(SetState, NotesThatAnEqualAnswerIsNew) {  // SD-009, SD-012
  auto state = settled();
  state.answered(1, {.role = Role::replica}, 2ms, at(9s));
  EXPECT_EQ(state.facts(1).updated, at(9s));
}

TEST(SetState, KeepsTheRoundTripsWhenOnlyTheRoleChanges) {  // SD-010, SS-150, SS-153
  auto state = settled();
  state.answered(1, {.role = Role::primary}, 7ms, at(2s));
  EXPECT_EQ(state.facts(1).rtt, 3ms);
  state.answered(1, {.role = Role::arbiter}, 8ms, at(3s));
  EXPECT_EQ(state.facts(1).rtt, 4ms);
}

TEST(SetState, StartsTheRoundTripsAnewAfterAMirrorWasUnknown) {  // SD-010, SS-151, SS-152
  auto state = settled();
  state.met(1, error(What::recovering), at(2s));
  EXPECT_EQ(state.facts(1).rtt, std::nullopt);
  state.answered(1, {.role = Role::replica}, 9ms, at(3s));
  EXPECT_EQ(state.facts(1).rtt, 9ms);
}

TEST(SetState, KnowsTheLeastOfTheLastRoundTrips) {  // SD-011
  auto state = settled();
  EXPECT_EQ(state[1].trips.least(), 0ms);
  state.answered(1, {.role = Role::replica}, 5ms, at(2s));
  EXPECT_EQ(state[1].trips.least(), 2ms);
  state.failed(1, PingFailure::timeout, "", at(3s));
  EXPECT_EQ(state[1].trips.least(), 0ms);
}

TEST(SetState, RemembersMirrorsThatDoNotServeAndWhy) {  // SD-013
  auto state = set_of(SetKind::roles);
  state.answered(0, {.role = Role::other, .why = "draining"}, 1ms, at(1s));
  state.answered(1, {.role = Role::arbiter}, 1ms, at(1s));
  state.answered(2, {.role = Role::ghost}, 1ms, at(1s));
  EXPECT_EQ(roles(state), (std::vector{Role::other, Role::arbiter, Role::ghost}));
  EXPECT_EQ(state[0].why, "draining");
  EXPECT_EQ(state[1].why, "its role is arbiter");
  EXPECT_EQ(state.facts(2).rtt, 1ms) << "it is available";
  state.answered(0, {.role = Role::replica}, 1ms, at(2s));
  EXPECT_EQ(state[0].why, "");
}

// Kinds

TEST(SetState, LearnsItsKindFromTheFirstAnswerThatTellsIt) {
  const struct {
    Description told;
    std::size_t mirrors;
    SetKind kind;
  } cases[] = {
      {{.role = Role::primary}, 1, SetKind::roles},
      {{.role = Role::replica}, 3, SetKind::roles},
      {{.role = Role::arbiter}, 3, SetKind::roles},
      {{.role = Role::other, .set = "s"}, 3, SetKind::roles},
      {{.role = Role::other}, 3, SetKind::unknown},
      {{.role = Role::ghost}, 3, SetKind::unknown},
      {{.role = Role::unknown}, 3, SetKind::unknown},
      {{.role = Role::router}, 3, SetKind::flat},
      {{.role = Role::router}, 1, SetKind::flat},
      {{.role = Role::standalone}, 1, SetKind::direct},
      {{.role = Role::standalone}, 3, SetKind::unknown},
  };
  for (const auto& c : cases) {
    auto members = three();
    members.resize(c.mirrors);
    auto state = set_of(SetKind::unknown, members);
    state.answered(0, c.told, 1ms, at(1s));
    EXPECT_EQ(state.picture().kind, c.kind) << name(c.told.role) << ", " << c.mirrors;
  }
}

TEST(SetState, StaysWhatItWasFoundToBe) {
  auto state = set_of(SetKind::unknown);
  state.answered(0, {.role = Role::router}, 1ms, at(1s));
  state.failed(0, PingFailure::network, "", at(2s));
  state.answered(1, {.role = Role::primary}, 1ms, at(3s));
  EXPECT_EQ(state.picture().kind, SetKind::flat);
}

// A node that joins its cluster is asked before the others: it has a set, and no role yet.
TEST(SetState, LearnsItsKindAnewWhenOnlyMirrorsThatDoNotServeHaveToldIt) {
  const Description joining{.role = Role::other, .set = "s"};
  auto routers = set_of(SetKind::unknown);
  routers.answered(0, joining, 1ms, at(1s));
  EXPECT_EQ(routers.picture().kind, SetKind::roles);
  routers.answered(1, {.role = Role::router, .set = "s"}, 1ms, at(1s));
  EXPECT_EQ(routers.picture().kind, SetKind::flat);
  EXPECT_EQ(routers.facts(1).role, Role::router);
  routers.answered(2, {.role = Role::primary}, 1ms, at(1s));
  EXPECT_EQ(routers.picture().kind, SetKind::flat) << "now it is sure";

  auto copies = set_of(SetKind::unknown);
  copies.answered(0, joining, 1ms, at(1s));
  copies.answered(1, {.role = Role::replica, .set = "s"}, 1ms, at(1s));
  copies.answered(2, {.role = Role::router}, 1ms, at(1s));
  EXPECT_EQ(copies.picture().kind, SetKind::roles);
}

TEST(SetState, LearnsNothingFromAMirrorOfAnotherSet) {  // SD-016
  SetState state({.name = "ours"}, three());
  state.answered(0, {.role = Role::primary, .set = "theirs"}, 1ms, at(1s));
  EXPECT_EQ(state.picture().kind, SetKind::unknown);
}

TEST(SetState, DoesNotSearchMirrorsWithoutARoleAmongMirrorsWithRoles) {
  auto state = settled();
  EXPECT_FALSE(state.mixed());
  state.answered(2, {.role = Role::standalone}, 1ms, at(2s));
  EXPECT_EQ(state.facts(2).role, Role::unknown);
  EXPECT_EQ(state[2].why, "is a standalone in a set with roles");
  EXPECT_TRUE(state.mixed());
  EXPECT_TRUE(state[2].misfit);
  state.answered(2, {.role = Role::router}, 1ms, at(3s));
  EXPECT_EQ(state[2].why, "is a router in a set with roles");
  state.answered(2, {.role = Role::replica}, 1ms, at(4s));
  EXPECT_EQ(state.facts(2).role, Role::replica);
  EXPECT_FALSE(state.mixed());
}

TEST(SetState, DoesNotSearchMirrorsWithRolesInAFlatSet) {
  auto state = set_of(SetKind::flat);
  for (const auto role : {Role::primary, Role::replica, Role::arbiter}) {
    state.answered(0, {.role = role}, 1ms, at(1s));
    EXPECT_EQ(state.facts(0).role, Role::unknown) << name(role);
    EXPECT_TRUE(state.mixed()) << name(role);
  }
  state.answered(0, {.role = Role::standalone}, 1ms, at(2s));
  EXPECT_EQ(state.facts(0).role, Role::standalone);
  EXPECT_FALSE(state.mixed());
}

TEST(SetState, TakesEverybodyAsHeIsInADirectSet) {
  auto state = set_of(SetKind::direct, {{.address = "a:1"}});
  for (const auto role : {Role::primary, Role::replica, Role::arbiter, Role::other, Role::ghost,
                          Role::standalone, Role::router}) {
    state.answered(0, {.role = role, .me = "somebody:2"}, 1ms, at(1s));
    EXPECT_EQ(state.facts(0).role, role);
  }
  EXPECT_EQ(state.picture().kind, SetKind::direct);
}

TEST(SetState, TakesMirrorsThatAreNotPingedToBeThereWhateverHappens) {
  SetState state({.pinged = false}, three());
  EXPECT_EQ(state.picture().kind, SetKind::flat);
  EXPECT_EQ(roles(state), std::vector(3, Role::router));
  EXPECT_EQ(state.failed(0, PingFailure::network, "", at(1s)), Effects{});
  EXPECT_EQ(state.answered(0, {.role = Role::ghost}, 1ms, at(1s)), Effects{});
  state.met(0, error(What::recovering), at(1s));
  EXPECT_EQ(roles(state), std::vector(3, Role::router));
}

TEST(SetState, DropsBrokenConnectionsOfMirrorsThatAreNotPinged) {  // SD-020
  SetState state({.pinged = false}, three());
  EXPECT_EQ(state.met(0, error(What::network), at(1s)), Effects{.drop_idle = only(0)});
  EXPECT_EQ(state[0].generation, 1U);
  EXPECT_EQ(state.facts(0).role, Role::router);
}

TEST(SetState, NeverDoubtsABalancedAddress) {  // SS-142
  SetState state({.kind = SetKind::balanced}, {{.address = "a:1"}});
  EXPECT_EQ(state.facts(0).role, Role::router);
  state.failed(0, PingFailure::network, "", at(1s));
  state.met(0, error(What::network), at(1s));
  EXPECT_EQ(state.facts(0).role, Role::router);
  EXPECT_EQ(state.picture().kind, SetKind::balanced);
}

// What the configuration says

TEST(SetState, LetsTheConfigurationReplaceTheRoleOfAMirrorThatServes) {
  for (const auto told :
       {Role::primary, Role::replica, Role::standalone, Role::router, Role::unknown}) {
    auto members = three();
    members[0].role = Role::replica;
    auto state = set_of(SetKind::roles, members);
    state.answered(0, {.role = told}, 1ms, at(1s));
    EXPECT_EQ(state.facts(0).role, Role::replica) << name(told);
    EXPECT_EQ(state[0].why, "") << name(told);
  }
}

TEST(SetState, NeverMakesAMirrorServeThatDoesNot) {
  for (const auto told : {Role::arbiter, Role::other, Role::ghost}) {
    auto members = three();
    members[0].role = Role::primary;
    auto state = set_of(SetKind::roles, members);
    state.answered(0, {.role = told}, 1ms, at(1s));
    EXPECT_EQ(state.facts(0).role, told);
  }
}

TEST(SetState, CanKeepAMirrorFromServing) {
  auto members = three();
  members[0].role = Role::other;
  auto state = set_of(SetKind::roles, members);
  state.answered(0, {.role = Role::replica}, 1ms, at(1s));
  EXPECT_EQ(state.facts(0).role, Role::other);
  EXPECT_EQ(state[0].why, "its role is other");
}

TEST(SetState, HasRolesWhenTheyAreConfiguredWhoeverAnswersFirst) {
  auto members = three();
  members[0].role = Role::primary;
  members[1].role = Role::replica;
  auto state = set_of(SetKind::unknown, members);
  EXPECT_EQ(state.picture().kind, SetKind::roles);
  state.answered(2, {}, 1ms, at(1s));
  state.answered(1, {}, 1ms, at(1s));
  state.answered(0, {}, 1ms, at(1s));
  EXPECT_EQ(roles(state), (std::vector{Role::primary, Role::replica, Role::unknown}));
  EXPECT_TRUE(state.mixed());
}

TEST(SetState, HasTheConfiguredRolesWithoutPings) {
  auto members = three();
  members[0].role = Role::primary;
  members[1].role = Role::replica;
  const SetState state({.pinged = false}, members);
  EXPECT_EQ(state.picture().kind, SetKind::roles);
  EXPECT_EQ(roles(state), (std::vector{Role::primary, Role::replica, Role::unknown}));
  EXPECT_EQ(state[2].why, "is a router in a set with roles");
  EXPECT_TRUE(state.mixed());
}

TEST(SetState, LetsConfiguredTagsReplaceTheToldOnes) {
  auto members = three();
  members[0].tags = Tags{{"dc", "ny"}};
  members[1].tags = Tags{};
  auto state = set_of(SetKind::roles, members);
  for (std::size_t i = 0; i < 3; ++i)
    state.answered(i, {.role = Role::replica, .tags = {{"dc", "sf"}}}, 1ms, at(1s));
  EXPECT_EQ(state.facts(0).tags, (Tags{{"dc", "ny"}}));
  EXPECT_EQ(state.facts(1).tags, Tags{});
  EXPECT_EQ(state.facts(2).tags, (Tags{{"dc", "sf"}}));
  state.failed(0, PingFailure::network, "", at(2s));
  EXPECT_EQ(state.facts(0).tags, (Tags{{"dc", "ny"}}));
}

TEST(SetState, HandsItsSettingsOnToThePicture) {  // SS-145
  const SetState state({.kind = SetKind::flat, .ping_interval = 3s, .tags_in_flat = true}, three());
  EXPECT_EQ(state.picture().ping_interval, 3s);
  EXPECT_TRUE(state.picture().tags_in_flat);
}

// Versions of the description

TEST(SetState, DoesNotUnderstandOtherVersionsOfTheDescription) {  // SS-121
  auto state = set_of(SetKind::roles);
  for (const auto api : {0U, 3U}) {
    state.answered(0, {.role = Role::primary, .api = api}, 1ms, at(1s));
    EXPECT_EQ(state.facts(0).role, Role::unknown) << api;
  }
  EXPECT_EQ(state[0].why, "its description is of version 3, understood are 1 to 2");
}

TEST(SetState, IsIncompatibleWhenEveryMirrorWasLastHeardToBeSo) {  // SS-121
  auto state = set_of(SetKind::roles, {{.address = "a:1"}, {.address = "b:1"}});
  state.answered(0, {.role = Role::primary, .api = 9}, 1ms, at(1s));
  EXPECT_FALSE(state.picture().incompatible) << "nobody knows about b";
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

struct Claim {
  unsigned api;
  std::optional<std::string> election_id;
  std::optional<std::int64_t> set_version;
};

/// Whether the second claim beats the first one, of another mirror.
bool beats(const Claim& first, const Claim& second) {
  auto state = set_of(SetKind::roles);
  std::size_t mirror = 0;
  for (const auto& claim : {first, second})
    state.answered(mirror++,
                   {.role = Role::primary,
                    .election_id = claim.election_id,
                    .set_version = claim.set_version,
                    .api = claim.api},
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
  const auto claims = [&](std::size_t mirror, std::optional<std::string> election_id,
                          std::int64_t set_version) {
    state.answered(mirror,
                   {.role = Role::primary,
                    .election_id = std::move(election_id),
                    .set_version = set_version,
                    .api = 1},
                   1ms, at(1s));
  };
  claims(0, "1", 5);
  claims(1, {}, 3);
  EXPECT_EQ(state.primary(), 1U);
  claims(2, "1", 4);
  EXPECT_EQ(state.primary(), 1U);
}

TEST(SetState, ExcludesMirrorsOfAnotherSet) {  // SD-016
  SetState state({.kind = SetKind::roles, .name = "ours"}, three());
  state.answered(0, {.role = Role::primary, .set = "theirs"}, 1ms, at(1s));
  state.answered(1, {.role = Role::replica, .set = "ours"}, 1ms, at(1s));
  state.answered(2, {.role = Role::replica}, 1ms, at(1s));
  EXPECT_EQ(roles(state), (std::vector{Role::unknown, Role::replica, Role::replica}));
  EXPECT_EQ(state[0].why, "is of the set theirs, not ours");
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
  EXPECT_EQ(state[1].why, "calls itself x:1, not b:1");
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
    const auto effects = state.met(0, met, at(2s));
    EXPECT_EQ(state.facts(0).role, c.taken ? Role::unknown : Role::primary);
    EXPECT_EQ(effects, c.taken ? Effects{.check_now = only(0)} : Effects{});
  }
}

TEST(SetState, LetsNoOlderAnswerUndoAnError) {  // SD-015
  auto state = set_of(SetKind::roles);
  state.answered(0, {.role = Role::primary, .version = kFirst}, 1ms, at(1s));
  auto met = error(What::not_primary);
  met.version = kSecond;
  state.met(0, met, at(2s));
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

// Errors in use

TEST(SetState, ForgetsAMirrorWhoseConnectionBrokeInUse) {  // SD-020
  auto state = settled();
  EXPECT_EQ(state.met(1, error(What::network), at(2s)),
            (Effects{.drop_idle = only(1), .cancel_ping = only(1)}));
  EXPECT_EQ(state.facts(1), MirrorFacts{.updated = at(2s)});
  EXPECT_EQ(state[1].generation, 1U);
  EXPECT_EQ(state[1].why, "so it is");
}

TEST(SetState, ThinksNothingOfATimeoutInUse) {  // SD-021
  auto state = settled();
  const auto before = state.picture();
  EXPECT_EQ(state.met(1, error(What::timeout), at(2s)), Effects{});
  EXPECT_EQ(state.picture(), before);
  EXPECT_EQ(state[1].generation, 0U);
}

TEST(SetState, ThinksNothingOfTroubleWhileConnecting) {  // SD-022
  auto state = settled();
  const auto before = state.picture();
  for (const auto what : {What::network, What::timeout})
    EXPECT_EQ(state.met(1, error(what, When::connecting), at(2s)), Effects{});
  EXPECT_EQ(state.picture(), before);
  EXPECT_EQ(state[1].generation, 0U);
}

TEST(SetState, ForgetsAMirrorWhoseNameIsRefused) {  // SD-022
  auto state = settled();
  EXPECT_EQ(state.met(1, error(What::name_refused, When::connecting), at(2s)), Effects{});
  EXPECT_EQ(state.facts(1).role, Role::unknown);
}

TEST(SetState, ChecksAMirrorThatSaysItsStateHasChanged) {  // SD-023
  for (const auto what : {What::not_primary, What::recovering}) {
    auto state = settled();
    EXPECT_EQ(state.met(0, error(what), at(2s)), Effects{.check_now = only(0)});
    EXPECT_EQ(state.facts(0).role, Role::unknown);
    EXPECT_EQ(state[0].generation, 0U);
    EXPECT_EQ(state.primary(), std::nullopt);
  }
}

TEST(SetState, DropsTheConnectionsOfAMirrorThatShutsDown) {  // SD-023
  auto state = settled();
  EXPECT_EQ(state.met(0, error(What::shutting_down), at(2s)),
            (Effects{.check_now = only(0), .drop_idle = only(0)}));
  EXPECT_EQ(state[0].generation, 1U);
}

TEST(SetState, IgnoresErrorsOfConnectionsThatWereGivenUp) {  // SD-024
  auto state = settled();
  state.met(1, error(What::network), at(2s));
  state.answered(1, {.role = Role::replica}, 1ms, at(3s));
  const auto before = state.picture();
  for (const auto what : {What::network, What::not_primary, What::shutting_down})
    EXPECT_EQ(state.met(1, error(what), at(4s)), Effects{}) << "of generation 0";
  EXPECT_EQ(state.picture(), before);
  EXPECT_EQ(state[1].generation, 1U);

  auto newer = error(What::network);
  newer.generation = 1;
  EXPECT_FALSE(state.met(1, newer, at(5s)).drop_idle.empty());
}

TEST(SetState, TakesOverTheCountOfConnectionGenerations) {  // SD-024
  auto state = settled();
  state.generation(1, 7);
  auto old = error(What::network);
  old.generation = 6;
  EXPECT_EQ(state.met(1, old, at(2s)), Effects{});
  EXPECT_EQ(state.facts(1).role, Role::replica);
}

// Freshness

TEST(SetState, TakesTheTimeOfTheLastWriteAsItIsTold) {
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

TEST(SetState, TakesAllForFreshInASetThatIsNotWrittenTo) {
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

TEST(SetState, CountsAnewWhenThePrimarysCounterFalls) {
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

TEST(SetState, IsNotFooledIntoFreshnessByAReplicaAheadOfItsPrimary) {
  auto state = set_of(SetKind::roles);
  says(state, 0, Role::primary, 100, 60s);
  says(state, 1, Role::replica, std::numeric_limits<std::uint64_t>::max(), 60s);
  says(state, 0, Role::primary, 101, 100s);
  says(state, 2, Role::replica, 90, 100s);
  EXPECT_EQ(lag(state, 2), 50s);
  EXPECT_EQ(lag(state, 1), 10s);
}

TEST(SetState, SaysNothingOfFreshnessWhereAMirrorDoesNot) {  // SS-046
  auto state = settled();
  EXPECT_EQ(state.facts(1).last_write, std::nullopt);
  EXPECT_EQ(lag(state, 1), std::nullopt);
}

}  // namespace
}  // namespace karmad
