#include "tests/balancer/shard/shard_story.hpp"

namespace karmad::testing {
namespace {

/// Which mirror is asked, and the waits while none is suitable.
struct ASelection : ShardStory {
  void nothing_suits() {
    rules.any_mirror = false;
    for (auto& mirror : mirrors->known.picture.mirrors) mirror.role = Role::unknown;
  }
  void serves(std::size_t mirror) { mirrors->known.picture.mirrors[mirror].role = Role::router; }
};

// SS-112, SS-128
TEST_F(ASelection, WaitsForNewsUntilAMirrorSuits) {
  nothing_suits();
  EXPECT_EQ(start(), "check; wait until 500ms for news");
  EXPECT_EQ(waiting, 1U);
  at(100ms);
  EXPECT_EQ(news(), "check; wait until 600ms for news");
  serves(1);
  EXPECT_EQ(news(), "ask b");
  EXPECT_EQ(waiting, 0U);
  EXPECT_EQ(counted(Count::selections_waited), 1U);
}

// SS-111, SS-170
TEST_F(ASelection, IsRefusedWhenNoMirrorSuitsInItsTime) {
  nothing_suits();
  rules.selection_timeout = 700ms;
  start();
  at(500ms);
  EXPECT_EQ(time_passes(), "check; wait until 700ms for news");
  at(700ms);
  EXPECT_EQ(time_passes(), "finish: selection_timeout");
  EXPECT_EQ(request->result().refused->status, 503);
  EXPECT_NE(request->result().refused->reason.find("refused the connection"), std::string::npos);
  EXPECT_EQ(counted(Count::selections_failed), 1U);
}

TEST_F(ASelection, DoesNotWaitWhereThereAreNoPings) {
  nothing_suits();
  mirrors->has_pings = false;
  EXPECT_EQ(start(), "finish: selection_timeout");
}

// SS-113
TEST_F(ASelection, DoesNotWaitBesideTooManyOthers) {
  nothing_suits();
  waiting = 10;
  EXPECT_EQ(start(), "finish: overloaded");
  EXPECT_EQ(counted(Count::selections_refused), 1U);
  EXPECT_EQ(waiting, 10U);
}

TEST_F(ASelection, EndsWhenAReloadReplacesTheSet) {
  nothing_suits();
  start();
  mirrors->is_closed = true;
  EXPECT_EQ(news(), "finish: configuration_changed");
  EXPECT_TRUE(request->result().plan_again) << "nothing was sent";
}

TEST_F(ASelection, EndsWithTheQuery) {
  nothing_suits();
  start();
  EXPECT_EQ(is_cancelled(), "finish: cancelled");
  EXPECT_EQ(waiting, 0U);
}

// BP-063
TEST_F(ASelection, ReportsTheErrorOfTheAttemptWhenNoOtherMirrorComes) {
  mirrors_are(1);
  rules.any_mirror = false;
  rules.subject.ordinary.per_mirror = 1;
  start();
  auto told = report(Outcome::broken);
  told.marked_unreachable = true;
  EXPECT_EQ(ends(told), "check; wait until 500ms for news");
  at(5s);
  EXPECT_EQ(time_passes(), "finish: connection broken");
}

// SS-042
TEST_F(ASelection, RefusesAPreferenceThatIsWrongForTheSet) {
  roles_are(3);
  mirrors->known.picture.ping_interval = 10s;
  need.preference.mode = Mode::secondary;
  need.preference.max_staleness = 1s;
  EXPECT_EQ(start(), "finish: bad_read_preference");
  EXPECT_EQ(request->result().refused->status, 400);
}

TEST_F(ASelection, RefusesAnUpdateOfMirrorsThatAreAlike) {
  rules.any_mirror = false;
  need.operation = Operation::write;
  EXPECT_EQ(start(), "finish: no_primary");
  rules.any_takes_updates = true;
  EXPECT_EQ(start(), "ask a");
}

// AgentSlots (`max_in_flight`)

TEST_F(ASelection, PassesMirrorsThatAreFull) {
  mirrors->without_slot = these({0, 1});
  EXPECT_EQ(start(), "ask c");
}

TEST_F(ASelection, WaitsForASlotWhereAllAreFull) {
  mirrors->without_slot = these({0, 1, 2});
  EXPECT_EQ(start(), "wait until 10000ms for a slot at abc");
  EXPECT_EQ(mirrors->queue.waiting, 1U);
  at(30ms);
  EXPECT_EQ(take(event::SlotFreed{1}), "ask b");
  EXPECT_EQ(mirrors->queue.waiting, 0U);
  EXPECT_EQ(mirrors->queue.micros, 30'000U);
  EXPECT_EQ(counted(Count::slots_waited), 1U);
}

TEST_F(ASelection, DoesNotTakeASlotAtAMirrorThatSuitsNoMore) {
  rules.any_mirror = false;
  mirrors->without_slot = these({0, 1, 2});
  start();
  mirrors->known.picture.mirrors[1].role = Role::unknown;
  EXPECT_EQ(take(event::SlotFreed{1}), "wait until 10000ms for a slot at ac");
}

TEST_F(ASelection, WaitsForAMirrorWhenNoneOfTheFullOnesSuitsAnyMore) {
  rules.any_mirror = false;
  mirrors->without_slot = these({0, 1, 2});
  start();
  nothing_suits();
  EXPECT_EQ(news(), "check; wait until 500ms for news");
  EXPECT_EQ(mirrors->queue.waiting, 0U);
}

TEST_F(ASelection, WaitsForASlotRatherThanForAMirrorThatGivesNoAnswer) {
  protection->standings.ended(2, Outcome::query_timeout, true);
  EXPECT_EQ(start(), "ask c") << "a probe";
  mirrors->without_slot = these({0, 1});
  EXPECT_EQ(start(), "wait until 10000ms for a slot at ab");
  for (const std::size_t other : {0, 1})
    protection->standings.ended(other, Outcome::query_timeout, true);
  mirrors->without_slot = {};
  EXPECT_EQ(start(), "ask a") << "a probe";
  EXPECT_EQ(start(), "ask b") << "a probe";
  mirrors->without_slot = these({0, 1});
  EXPECT_EQ(start(), "ask c") << "none gives an answer";
}

TEST_F(ASelection, IsRefusedWhereTooManyWaitForASlot) {
  mirrors->without_slot = these({0, 1, 2});
  mirrors->most_waiting = 0;
  EXPECT_EQ(start(), "finish: overloaded");
  EXPECT_EQ(request->result().refused->status, 429);
  EXPECT_EQ(mirrors->queue.refused, 1U);
}

TEST_F(ASelection, IsRefusedWhenNoSlotComesInTime) {
  mirrors->without_slot = these({0, 1, 2});
  start();
  at(10s);
  EXPECT_EQ(time_passes(), "finish: overloaded");
  EXPECT_EQ(counted(Count::slots_refused), 1U);
}

// SS-111
TEST_F(ASelection, LeavesHalfOfItsTimeToConnectForAnotherMirror) {
  rules.selection_timeout = 1s;
  start();
  EXPECT_EQ(sends[0].connect_timeout, 500ms);
  auto told = report(Outcome::connect_timeout);
  told.connecting = 500ms;
  EXPECT_EQ(ends(told), "check; ask b (retry)");
  EXPECT_EQ(sends[0].connect_timeout, 250ms);
}

// CO-091, CO-092
TEST_F(ASelection, AvoidsATrippedMirrorAndProbesItOnceInAWhile) {
  protection = std::make_unique<Protection>(
      3, ProtectionRules{.breaker = BreakerRules{.reads = 1, .probe_every = 1s}});
  for (int i = 0; i < 2; ++i) protection->breaker->failed(0, Operation::read, t0);
  EXPECT_EQ(start(), "ask b");
  at(1s);
  EXPECT_EQ(start(), "ask a");
  EXPECT_EQ(sends[0].pick.suitable, these({0}));
  EXPECT_EQ(start(), "ask b");
}

TEST_F(ASelection, AvoidsAMirrorThatRefusedTheLastConnection) {
  at(2s);
  mirrors->failed = these({0});
  protection->standings.ended(0, Outcome::connect_failed);
  EXPECT_EQ(start(), "ask a");  // it is due for a probe
  EXPECT_EQ(start(), "ask b");
  mirrors->failed = {};  // a ping found it well
  EXPECT_EQ(start(), "ask a");
}

TEST_F(ASelection, AvoidsMirrorsThatTheLastPingDidNotReach) {
  mirrors->known.unreachable = these({0, 1});
  EXPECT_EQ(start(), "ask c");
}

TEST_F(ASelection, TakesTheMirrorWithTheLightestReasonWhereAllHaveOne) {
  mirrors->known.unreachable = these({0, 1, 2});
  EXPECT_EQ(start(), "ask a");
}

// CO-077
TEST_F(ASelection, AvoidsMirrorsThatPingsKnowToBeBehind) {
  rules.min_generation = 7;
  mirrors->known.mirrors[0].description.generation = 6;
  mirrors->known.mirrors[1].description.generation = 7;
  EXPECT_EQ(start(), "ask b");
}

}  // namespace
}  // namespace karmad::testing
