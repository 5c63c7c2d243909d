#include "balancer/rules/standings.hpp"

#include <gtest/gtest.h>

namespace karmad {
namespace {

using namespace std::chrono_literals;

MirrorHealth after(std::initializer_list<Outcome> outcomes) {
  MirrorHealth standing;
  for (const auto outcome : outcomes) standing = standing.after(outcome);
  return standing;
}

TEST(MirrorHealth, OneAnswerProvesAMirrorOfWhichNothingIsKnown) {
  EXPECT_FALSE(MirrorHealth{}.proven());
  EXPECT_FALSE(MirrorHealth{}.failing());
  for (const auto answer :
       {Outcome::answered, Outcome::answered_with_warning, Outcome::client_mistake})
    EXPECT_TRUE(after({answer}).proven());
}

TEST(MirrorHealth, OneFailureEndsIt) {
  for (const auto failure :
       {Outcome::agent_error, Outcome::wrong_reply, Outcome::connect_failed,
        Outcome::connect_timeout, Outcome::broken, Outcome::closed_early, Outcome::query_timeout}) {
    const auto standing = after({Outcome::answered, failure});
    EXPECT_FALSE(standing.proven());
    EXPECT_TRUE(standing.failing());
  }
}

TEST(MirrorHealth, WhatIsNotTheMirrorsDoingShowsNothing) {
  for (const auto nothing : {Outcome::cancelled, Outcome::local_error}) {
    EXPECT_EQ(after({nothing}), MirrorHealth{});
    EXPECT_EQ(after({Outcome::answered, nothing}), after({Outcome::answered}));
  }
}

TEST(MirrorHealth, AFailedMirrorProvesItByEightAnswersInARow) {
  auto standing = after({Outcome::answered, Outcome::agent_error});
  for (int i = 1; i < MirrorHealth::kProof; ++i) {
    standing = standing.after(Outcome::answered);
    EXPECT_FALSE(standing.proven()) << i;
    EXPECT_FALSE(standing.failing()) << i;
  }
  EXPECT_TRUE(standing.after(Outcome::answered).proven());
  EXPECT_FALSE(standing.after(Outcome::agent_error).after(Outcome::answered).proven());
}

TEST(MirrorHealth, AnUnreachableMirrorIsBackWithOneAnswer) {
  EXPECT_TRUE(after({Outcome::answered, Outcome::connect_failed}).unreachable);
  const auto back = after({Outcome::answered, Outcome::connect_failed, Outcome::answered});
  EXPECT_TRUE(back.proven());
  EXPECT_FALSE(back.unreachable);
  EXPECT_FALSE(after({Outcome::agent_error, Outcome::connect_failed, Outcome::answered}).proven());
}

Candidates these(std::initializer_list<std::size_t> mirrors) {
  Candidates all;
  for (const auto mirror : mirrors) all.insert(mirror);
  return all;
}

TEST(SetHealth, GroupTheMirrors) {
  SetHealth standings(4);
  standings.ended(0, Outcome::answered);
  standings.ended(1, Outcome::connect_failed);
  const SetHealth::InFlightGuard first(standings, 0), third(standings, 2);
  const auto groups = standings.groups();
  EXPECT_EQ(groups.proven, these({0}));
  EXPECT_EQ(groups.failing, these({1}));
  EXPECT_EQ(groups.unknown, these({2, 3}));
  EXPECT_EQ(groups.told_soon, these({2}));
  EXPECT_EQ(standings.unreachable(), these({1}));
  EXPECT_TRUE(standings.any_unreachable());
  standings.ended(1, Outcome::answered);
  EXPECT_FALSE(standings.any_unreachable());
}

TEST(SetHealth, WakeWaitingRequestsAfterTheResultOfAnAttempt) {
  SetHealth standings(2);
  standings.ended(0, Outcome::answered);
  EXPECT_FALSE(standings.take_change()) << "no request waited";
  standings.wait_begins();
  standings.ended(1, Outcome::agent_error);
  EXPECT_TRUE(standings.take_change());
  EXPECT_FALSE(standings.take_change());
  standings.ended(1, Outcome::agent_error);
  EXPECT_FALSE(standings.take_change()) << "that was known";
}

TEST(SetHealth, TellAlsoThatAnAttemptShowedNothing) {
  SetHealth standings(1);
  standings.wait_begins();
  std::optional<SetHealth::InFlightGuard> under_way(std::in_place, standings, 0);
  standings.ended(0, Outcome::cancelled);
  EXPECT_FALSE(standings.take_change());
  under_way.reset();
  EXPECT_TRUE(standings.take_change());
  EXPECT_TRUE(standings.groups().told_soon.empty());
}

TEST(SetHealth, HaveAMirrorProbedOnceInAWhile) {
  SetHealth standings(2);
  const TimePoint now{1h};
  EXPECT_EQ(standings.try_probe(these({1}), now, 1s), 1u);
  EXPECT_FALSE(standings.try_probe(these({1}), now + 999ms, 1s));
  EXPECT_EQ(standings.try_probe(these({1}), now + 1s, 1s), 1u);
  EXPECT_FALSE(standings.try_probe({}, now + 1h, 1s));
}

using On = RetryTarget::On;

struct StandingsCase {
  const char* what;
  Candidates preferred, untried;
  SetHealth::Groups stand;
  bool funded;
  On on;
  Candidates among;
};

TEST(RetryTarget, DependsOnTheErrorAndDecidesWhichBudgetPays) {
  const auto all = these({0, 1, 2, 3});
  const StandingsCase cases[] = {
      {"one works",
       all,
       all,
       {.proven = these({2}), .unknown = these({1})},
       false,
       On::nothing,
       these({2})},
      {"no mirror is known to work",
       all,
       all,
       {.unknown = these({1, 2}), .failing = these({0, 3})},
       true,
       On::budget,
       these({1, 2})},
      {"one is being asked: another",
       all,
       all,
       {.unknown = these({1, 2}), .told_soon = these({1}), .failing = these({0, 3})},
       true,
       On::budget,
       these({2})},
      {"… which the budget does not pay",
       all,
       all,
       {.unknown = these({1, 2}), .told_soon = these({1}), .failing = these({0, 3})},
       false,
       On::news,
       these({1})},
      {"all unknown are being asked",
       all,
       all,
       {.unknown = these({1}), .told_soon = these({1}), .failing = these({0, 3})},
       true,
       On::news,
       these({1})},
      {"who answered last, before who failed",
       all,
       all,
       {.failing = these({0, 1, 3})},
       true,
       On::budget,
       these({2})},
      {"all fail", all, all, {.failing = all}, true, On::budget, all},
      {"preferred ones are unknown",
       these({0}),
       all,
       {.proven = these({3}), .unknown = these({0})},
       true,
       On::budget,
       these({0})},
      {"an unknown one without savings: paid for if it fails",
       all,
       all,
       {.unknown = these({1}), .failing = these({0, 2, 3})},
       false,
       On::nothing,
       these({1})},
      {"preferred ones fail, another works",
       these({0}),
       all,
       {.proven = these({3}), .failing = these({0, 1, 2})},
       true,
       On::nothing,
       these({3})},
  };
  for (const auto& c : cases) {
    PreferenceLevels untried;
    untried.add(c.untried);
    const auto target = retry_target(untried, c.untried - c.preferred, c.stand, c.funded);
    EXPECT_EQ(target.on, c.on) << c.what;
    EXPECT_EQ(target.among, c.among) << c.what;
  }
}

// A later level is asked rather than one that fails; of several that work, the first one.
TEST(RetryTarget, GoesByTheOrderOfThePreference) {  // SS-146, X-19
  PreferenceLevels untried;
  untried.add(these({1, 2}));
  untried.add(these({0}));
  untried.add(these({3}));
  const auto target = [&](const SetHealth::Groups& stand, Candidates avoided = {}) {
    return retry_target(untried, avoided, stand, true);
  };
  const auto proven = target({.proven = these({0, 2, 3}), .failing = these({1})});
  EXPECT_EQ(proven.on, On::nothing);
  EXPECT_EQ(proven.among, these({2}));
  const auto later = target({.proven = these({0, 3}), .failing = these({1, 2})});
  EXPECT_EQ(later.on, On::nothing);
  EXPECT_EQ(later.among, these({0}));
  const auto not_sure = target({.proven = these({3}), .failing = these({1, 2})});
  EXPECT_EQ(not_sure.on, On::nothing) << "mirror 0 has failed and not proved itself since";
  EXPECT_EQ(not_sure.among, these({3}));
  const auto unknown = target({.unknown = these({0, 3}), .failing = these({1, 2})});
  EXPECT_EQ(unknown.on, On::budget);
  EXPECT_EQ(unknown.among, these({0}));
  const auto marked = target({.proven = these({0, 3}), .failing = these({1, 2})}, these({0}));
  EXPECT_EQ(marked.among, these({3}));
  const auto none = target({.failing = these({0, 1, 2, 3})});
  EXPECT_EQ(none.on, On::budget);
  EXPECT_EQ(none.among, these({1, 2}));
}

TEST(SetHealth, AMirrorIsDownAfterThreeFailuresInARow) {
  SetHealth standings(2);
  for (int i = 0; i < 2; ++i) standings.ended(0, Outcome::agent_error);
  EXPECT_FALSE(standings.any_down());
  standings.ended(0, Outcome::connect_failed);
  EXPECT_TRUE(standings.any_down());
  EXPECT_EQ(standings.groups().down, these({0}));
  standings.ended(0, Outcome::answered);
  EXPECT_FALSE(standings.any_down());
}

// A single search that takes long says nothing of a mirror that answers others; a mirror that
// answers none is silent until it does.
TEST(SetHealth, AMirrorIsSilentUntilItAnswers) {
  SetHealth standings(2);
  const TimePoint now{1h};
  standings.ended(0, Outcome::query_timeout, false);
  EXPECT_FALSE(standings.any_silent());
  standings.ended(0, Outcome::query_timeout, true);
  EXPECT_EQ(standings.silent(), these({0}));
  EXPECT_EQ(standings.try_probe(these({0}), now, 10s), 0u) << "it is asked again at once";
  EXPECT_FALSE(standings.try_probe(these({0}), now, 10s));
  standings.ended(0, Outcome::query_timeout, true);
  EXPECT_FALSE(standings.try_probe(these({0}), now + 9s, 10s));
  standings.ended(0, Outcome::answered);
  EXPECT_FALSE(standings.any_silent());
  standings.ended(0, Outcome::query_timeout, true);
  EXPECT_EQ(standings.try_probe(these({0}), now + 1s, 10s), 0u);
  SetHealth after(1);
  after.take_over(standings, {0});
  EXPECT_TRUE(after.any_silent());
}

}  // namespace
}  // namespace karmad
