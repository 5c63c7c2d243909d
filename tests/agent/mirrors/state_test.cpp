// Effects of pings and of the configuration on a set.
#include <gtest/gtest.h>

#include "tests/agent/state_builders.hpp"

namespace karmad {
namespace {

using namespace testing;

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

TEST(SetState, TakesAMirrorThatWantsCredentialsForWhatItWas) {
  auto state = settled();
  const auto before = roles(state);
  for (std::size_t i = 0; i < 3; ++i) state.answered(i, {.denied = true}, 1ms, at(2s));
  EXPECT_EQ(roles(state), before);
}

TEST(SetState, LearnsTheKindOfTheSetOnceMirrorsTellMoreThanThatTheyLive) {
  auto state = set_of(SetKind::unknown);
  state.answered(0, {.denied = true}, 1ms, at(1s));
  EXPECT_EQ(state.facts(0).role, Role::router) << "it serves";
  state.answered(0, {.role = Role::primary}, 1ms, at(2s));
  EXPECT_EQ(state.picture().kind, SetKind::roles);
  EXPECT_EQ(state.facts(0).role, Role::primary);
}

TEST(SetState, PingsAKnownMirrorOnceMoreAfterANetworkError) {  // SD-008
  auto state = settled();
  EXPECT_EQ(state.failed(1, PingFailure::network, "refused", at(2s)),
            (Effects{.check_now = only(1), .drop_idle = only(1)}));
  EXPECT_EQ(state.failed(1, PingFailure::network, "refused again", at(3s)), Effects{});
  EXPECT_EQ(state[1].why, "refused again");
  EXPECT_EQ(state[1].generation, 1U);
}

TEST(SetState, InterruptsAttemptsAfterAPingTimedOut) {  // SD-008
  auto state = settled();
  EXPECT_EQ(state.failed(1, PingFailure::timeout, "too slow", at(2s)),
            (Effects{.drop_idle = only(1), .interrupt = only(1)}));
  EXPECT_TRUE(state[1].unreachable);
  EXPECT_EQ(state.failed(1, PingFailure::timeout, "too slow", at(3s)),
            Effects{.interrupt = only(1)})
      << "those that began since";
  EXPECT_EQ(state.failed(1, PingFailure::slow, "too slow", at(4s)), Effects{})
      << "other requests are answered";
  EXPECT_FALSE(state[1].unreachable);
  EXPECT_EQ(state.failed(1, PingFailure::network, "refused", at(5s)), Effects{});
  EXPECT_TRUE(state[1].unreachable);
  state.answered(1, {.role = Role::replica}, 1ms, at(6s));
  EXPECT_FALSE(state[1].unreachable);
}

TEST(SetState, InterruptsNothingWhilePingsWereNeverAnswered) {
  auto state = set_of(SetKind::roles);
  EXPECT_EQ(state.failed(1, PingFailure::timeout, "too slow", at(2s)), Effects{});
}

TEST(SetState, DropsTheConnectionsOfAMirrorThatWasUnknownForAnotherReason) {  // SD-008
  auto state = settled();
  state.on_error(1, error(What::recovering), at(2s));
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

TEST(SetState, StartsTheRoundTripsAgainAfterAMirrorWasUnknown) {  // SD-010, SS-151, SS-152
  auto state = settled();
  state.on_error(1, error(What::recovering), at(2s));
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

TEST(SetState, LearnsItsKindFromTheFirstAnswerThatHasIt) {
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

TEST(SetState, KeepsItsKind) {
  auto state = set_of(SetKind::unknown);
  state.answered(0, {.role = Role::router}, 1ms, at(1s));
  state.failed(0, PingFailure::network, "", at(2s));
  state.answered(1, {.role = Role::primary}, 1ms, at(3s));
  EXPECT_EQ(state.picture().kind, SetKind::flat);
}

// A node that joins its cluster is asked before the others: it has a set, and no role yet.
TEST(SetState, LearnsItsKindAgainIfOnlyMirrorsThatDoNotServeHadReportedIt) {
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

TEST(SetState, UsesEveryMirrorInADirectSet) {
  auto state = set_of(SetKind::direct, {{.address = "a:1"}});
  for (const auto role : {Role::primary, Role::replica, Role::arbiter, Role::other, Role::ghost,
                          Role::standalone, Role::router}) {
    state.answered(0, {.role = role, .me = "other:2"}, 1ms, at(1s));
    EXPECT_EQ(state.facts(0).role, role);
  }
  EXPECT_EQ(state.picture().kind, SetKind::direct);
}

TEST(SetState, TreatsMirrorsWithoutPingsAsAlwaysAvailable) {
  SetState state({.pinged = false}, three());
  EXPECT_EQ(state.picture().kind, SetKind::flat);
  EXPECT_EQ(roles(state), std::vector(3, Role::router));
  EXPECT_EQ(state.failed(0, PingFailure::network, "", at(1s)), Effects{});
  EXPECT_EQ(state.answered(0, {.role = Role::ghost}, 1ms, at(1s)), Effects{});
  state.on_error(0, error(What::recovering), at(1s));
  EXPECT_EQ(roles(state), std::vector(3, Role::router));
}

TEST(SetState, DropsBrokenConnectionsOfMirrorsThatAreNotPinged) {  // SD-020
  SetState state({.pinged = false}, three());
  EXPECT_EQ(state.on_error(0, error(What::network), at(1s)), Effects{.drop_idle = only(0)});
  EXPECT_EQ(state[0].generation, 1U);
  EXPECT_EQ(state.facts(0).role, Role::router);
}

TEST(SetState, NeverDoubtsABalancedAddress) {  // SS-142
  SetState state({.kind = SetKind::balanced}, {{.address = "a:1"}});
  EXPECT_EQ(state.facts(0).role, Role::router);
  state.failed(0, PingFailure::network, "", at(1s));
  state.on_error(0, error(What::network), at(1s));
  EXPECT_EQ(state.facts(0).role, Role::router);
  EXPECT_EQ(state.picture().kind, SetKind::balanced);
}

// Configured roles and tags

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

TEST(SetState, HasConfiguredRolesForAnyOrderOfAnswers) {
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

TEST(SetState, LetsConfiguredTagsReplaceReportedOnes) {
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

}  // namespace
}  // namespace karmad
