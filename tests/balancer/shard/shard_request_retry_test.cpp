#include "tests/balancer/shard/shard_story.hpp"

namespace karmad::testing {
namespace {

/// One sequence of attempts: the first one and its retries.
struct ARequest : ShardStory {
  void all_fail() {
    for (std::size_t i = 0; i < 3; ++i) protection->standings.ended(i, Outcome::agent_error);
  }
  /// A set with roles of which only replicas are to be read, for data as new as `generation`.
  void replicas_are_read(std::uint64_t generation) {
    roles_are(3);
    need.preference.mode = Mode::secondary;
    rules.min_generation = generation;
  }
  void use_up_the_budget() {
    while (protection->budget.take(RetryBudget::For::other)) {
    }
  }
  /// An answer that a working mirror gives, but that another attempt has to follow.
  static AttemptReport follow_me(Kind kind, unsigned status) {
    auto told = hint(kind, status);
    told.outcome = Outcome::client_mistake;
    return told;
  }
};

TEST_F(ARequest, IsOneAttemptWhenThatIsAnswered) {
  EXPECT_EQ(start(), "ask a");
  EXPECT_EQ(answers(), "finish: answered");
  EXPECT_EQ(request->result().mirror, 0U);
  EXPECT_TRUE(request->failed().empty());
  EXPECT_EQ(protection->budget.live(), 1U);
  request.reset();
  EXPECT_EQ(protection->budget.live(), 0U);
}

TEST_F(ARequest, SendsTheCandidatesThatThePickSaw) {
  protection->unavailable.mark(0, t0, 1min);
  mirrors->without_slot = these({2});
  EXPECT_EQ(start(), "ask b");
  EXPECT_EQ(sends[0].pick,
            (Pick{.mirror = 1, .suitable = these({0, 1}), .acceptable = these({1})}));
}

TEST_F(ARequest, IsNotRepeatedForAMistakeOfTheClient) {
  start();
  EXPECT_EQ(ends(report(Outcome::client_mistake, 400)), "finish: client's mistake");
  EXPECT_TRUE(request->failed().empty());
}

// BP-060, X-1
TEST_F(ARequest, AsksAnotherMirrorAtOnceAfterAnError) {
  start();
  EXPECT_EQ(ends(report(Outcome::agent_error, 500)), "ask b (retry)");
  EXPECT_EQ(sends[0].reason, AttemptReason::retry);
  EXPECT_EQ(sends[0].number, 1U);
  EXPECT_EQ(answers(), "finish: answered");
  ASSERT_EQ(request->failed().size(), 1U);
  EXPECT_EQ(request->failed()[0].mirror, 0U);
  EXPECT_EQ(request->failed()[0].why, "agent error");
  EXPECT_EQ(counted(Count::retries), 1U);
}

//
TEST_F(ARequest, AsksEachMirrorOnceByDefault) {
  start();
  EXPECT_EQ(ends(Outcome::broken), "ask b (retry)");
  EXPECT_EQ(ends(Outcome::broken), "ask c (retry)");
  EXPECT_EQ(ends(Outcome::broken), "finish: connection broken");
  EXPECT_EQ(request->failed().size(), 3U);
}

//
TEST_F(ARequest, WaitsBeforeItAsksMirrorsAgainThatRefusedConnections) {
  rules.subject.ordinary.per_mirror = 2;
  start();
  EXPECT_EQ(ends(Outcome::connect_failed), "check; ask b (retry)");
  EXPECT_EQ(ends(Outcome::connect_failed), "check; ask c (retry)");
  EXPECT_EQ(ends(Outcome::connect_failed), "check; wait until 200ms");
  at(200ms);
  EXPECT_EQ(time_passes(), "ask a (retry)");
  EXPECT_EQ(sends[0].pause, 200ms);
}

// BP-060
TEST_F(ARequest, DoesNotRepeatAnUpdateThatMayHaveBeenSent) {
  need.operation = Operation::write;
  rules.subject.kind = RequestClass::write;
  start();
  EXPECT_EQ(ends(Outcome::broken), "finish: connection broken");
  start();
  EXPECT_EQ(ends(Outcome::connect_failed), "check; ask b (retry)");
}

TEST_F(ARequest, IsRepeatedOnceAfterATimeOutOfTheQuery) {  // HA-026, X-18
  start();
  EXPECT_EQ(ends(Outcome::query_timeout), "ask b (retry)");
  EXPECT_EQ(protection->budget.saved(), 9U) << "paid for, although b works";
  EXPECT_EQ(ends(Outcome::query_timeout), "finish: query timed out");
  EXPECT_TRUE(request->result().timed_out);
  EXPECT_EQ(protection->budget.saved(), 9U);
}

// The retry may be sent elsewhere like any other; after a time-out there it is not.
TEST_F(ARequest, GoesOnIfItsRetryAfterATimeOutFailsOtherwise) {
  start();
  EXPECT_EQ(ends(Outcome::query_timeout), "ask b (retry)");
  EXPECT_EQ(ends(Outcome::broken), "ask c (retry)");
  EXPECT_EQ(answers(), "finish: answered");
}

TEST_F(ARequest, IsNotRepeatedAfterATimeOutWhereItMustNotBe) {  // HA-026, X-18
  rules.subject.ordinary.per_mirror = 0;
  start();
  EXPECT_EQ(ends(Outcome::query_timeout), "finish: query timed out") << "agent_retry_count = 0";
  rules.subject.ordinary.per_mirror.reset();
  need.operation = Operation::write;
  rules.subject.kind = RequestClass::write;
  start();
  EXPECT_EQ(ends(Outcome::query_timeout), "finish: query timed out") << "an update";
  need.operation = Operation::read;
  rules.subject.kind = RequestClass::read;
  for (std::size_t i = 1; i < 3; ++i) protection->standings.ended(i, Outcome::agent_error);
  start();
  EXPECT_EQ(ends(Outcome::query_timeout), "finish: query timed out") << "the others fail";
  rules.deadline = t0;
  start();
  EXPECT_EQ(ends(Outcome::query_timeout), "finish: query timed out") << "no time is left";
}

TEST_F(ARequest, SaysWhyItIsNotRepeatedAfterATimeOut) {
  const auto why = [&] { return logs.empty() ? "" : logs.front().why; };
  start();
  EXPECT_EQ(ends(Outcome::query_timeout), "ask b (retry)");
  EXPECT_EQ(why(), "");
  ends(Outcome::query_timeout);
  EXPECT_EQ(why(), "no retry: a search is sent once more after a timeout, and has been");
  EXPECT_TRUE(logs.front().excluded->objections[AvoidReason::unpaid].empty());
  start();
  EXPECT_EQ(ends(Outcome::query_timeout), "ask c (retry)");
  answers();
  EXPECT_EQ(why(), "");
  all_fail();
  start();
  ends(Outcome::query_timeout);
  EXPECT_EQ(why(), "no retry: after a timeout only a mirror that is not known to fail is asked");
  retry.timeout_steps = 1;
  start();
  ends(Outcome::query_timeout);
  EXPECT_EQ(why(), "no retry: search_timeouts has no further step");
  need.operation = Operation::write;
  rules.subject.kind = RequestClass::write;
  start();
  ends(Outcome::query_timeout);
  EXPECT_EQ(why(), "") << "an update is never repeated";
  EXPECT_EQ(counted(Count::retries_refused), 0U);
}

// A mirror that answers pings, but no search, is left out until it answers one.
TEST_F(ARequest, IsNotSentFirstToASilentMirror) {
  start();
  auto told = report(Outcome::query_timeout);
  told.silent = true;
  EXPECT_EQ(ends(told), "ask b (retry)");
  EXPECT_EQ(answers(), "finish: answered");
  EXPECT_EQ(start(), "ask a") << "perhaps only that search took long";
  EXPECT_EQ(start(), "ask b");
  at(9s);
  EXPECT_EQ(start(), "ask b");
  at(11s);
  EXPECT_EQ(start(), "ask a");
  EXPECT_EQ(answers(), "finish: answered");
  EXPECT_EQ(start(), "ask a");
}

// CO-044
TEST_F(ARequest, GoesOnAfterATimeOutWhileTheListOfTimeOutsDoes) {
  retry.timeout_steps = 2;
  start();
  EXPECT_EQ(ends(Outcome::query_timeout), "ask b (retry)");
  EXPECT_EQ(sends[0].number, 1U);
  EXPECT_EQ(ends(Outcome::query_timeout), "finish: query timed out");
}

TEST_F(ARequest, AsksAnotherMirrorWhenPingsFoundTheFirstOneUnreachable) {
  start();
  auto told = report(Outcome::query_timeout);
  told.unreachable = true;
  EXPECT_EQ(ends(told), "ask b (retry)");
}

// a mirror that works is not overloaded.
TEST_F(ARequest, AsksAMirrorThatWorksAtOnceAfterOverload) {
  while (protection->budget.take(RetryBudget::For::other)) continue;
  start();
  EXPECT_EQ(ends(hint(Kind::overload)), "ask b (overload)");
  EXPECT_EQ(counted(Count::overload_retries), 1U);
  EXPECT_EQ(answers(), "finish: answered");
}

// BP-004, BP-007, BP-008
TEST_F(ARequest, PausesAfterOverloadAndAsksAnother) {
  all_fail();
  start();
  EXPECT_EQ(ends(hint(Kind::overload)), "wait until 50ms");
  EXPECT_EQ(protection->budget.extras(), 1U);  // what is queued counts
  at(50ms);
  EXPECT_EQ(time_passes(), "ask b (overload)");
  EXPECT_EQ(counted(Count::overload_retries), 1U);
  EXPECT_EQ(answers(), "finish: answered");
  EXPECT_EQ(protection->budget.extras(), 0U);
}

// BP-025: the budget refuses the retry, so its token stays.
TEST_F(ARequest, TakesNoTokenForARetryThatTheBudgetRefuses) {
  retry.adaptive_retries = true;
  all_fail();
  std::vector<RetryBudget::RetryPermit> others;
  while (auto permit = protection->budget.take(RetryBudget::For::other))
    others.push_back(*std::move(permit));
  for (const auto before = protection->tokens.tenths(); const int round : {1, 2, 3}) {
    start();
    EXPECT_EQ(ends(hint(Kind::overload)), "finish: agent error") << round;
    EXPECT_EQ(protection->tokens.tenths(), before) << round;
  }
  others.clear();
}

TEST_F(ARequest, LooksAgainOnlyWhenAPauseIsOver) {
  all_fail();
  start();
  ends(hint(Kind::overload));
  at(49ms);
  EXPECT_EQ(time_passes(), "wait until 50ms");
  EXPECT_EQ(news(), "wait until 50ms");
}

// BP-014: what is queued before its pause ends with the query; no mirror is asked after it.
TEST_F(ARequest, EndsInItsPauseWhenTheQueryIsOver) {
  all_fail();
  start();
  ends(hint(Kind::overload));
  EXPECT_EQ(is_cancelled(), "finish: agent error");
  EXPECT_EQ(protection->budget.extras(), 0U);
}

TEST_F(ARequest, BreaksItsAttemptOffWhenTheQueryIsOver) {
  start();
  EXPECT_EQ(is_cancelled(), "cancel 0");
  EXPECT_EQ(ends(Outcome::cancelled), "finish: cancelled");
}

TEST_F(ARequest, IsOverBeforeItBegins) {
  request = std::make_unique<ShardRequest>(rules);
  EXPECT_EQ(is_cancelled(), "finish: cancelled");
}

// CO-036, CO-004
TEST_F(ARequest, AsksOthersAtOnceWhileOneWantsAPauseAndWaitsWhenAllDo) {
  start();
  auto told = hint(Kind::throttled, 429);
  told.hint.delay = 300ms;
  EXPECT_EQ(ends(told), "ask b (throttled)");
  EXPECT_EQ(ends(told), "ask c (throttled)");
  EXPECT_EQ(ends(told), "wait until 300ms");
  at(300ms);
  EXPECT_EQ(time_passes(), "ask a (throttled)");
  EXPECT_EQ(counted(Count::throttled_retries), 3U);
  EXPECT_EQ(counted(Count::retries), 3U);
  EXPECT_EQ(counted(Count::overload_retries), 0U);
}

TEST_F(ARequest, MarksAMirrorThatWantsAPauseForOtherRequests) {
  start();
  auto told = hint(Kind::throttled, 429);
  told.hint.delay = 300ms;
  ends(told);
  EXPECT_EQ(start(), "ask b");
  at(301ms);
  EXPECT_EQ(start(), "ask a");
}

// The client is told when the first mirror may be asked, not what the last one has said.
TEST_F(ARequest, EndsWithTheShortestPauseThatAMirrorWants) {
  for (const auto& delays : {std::vector<Micros>{40s, 5s, 17s}, {5s, 17s, 40s}, {17s, 40s, 5s}}) {
    mirrors_are(3);
    start();
    auto told = hint(Kind::throttled, 429);
    for (const auto delay : delays) {
      told.hint.delay = delay;
      ends(told);
    }
    EXPECT_EQ(request->result().hint.delay, 5s);
    at(2s);
    told.hint.delay = 9s;
    start();
    for (int i = 0; i < 3; ++i) ends(told);
    EXPECT_EQ(request->result().hint.delay, 9s) << "each wants another one now";
    request.reset();
    at(0s);
  }
}

// CO-082, BP-063
TEST_F(ARequest, EndsWithTheErrorOfItsLastAttempt) {
  retry.max_attempts = 3;
  for (const std::size_t refuses : {0U, 1U, 2U}) {
    mirrors_are(3);
    start();
    for (std::size_t i = 0; i < 3; ++i)
      ends(i == refuses ? hint(Kind::overload, 429) : report(Outcome::agent_error, 500));
    EXPECT_EQ(request->result().status, refuses == 2 ? 429U : 500U) << refuses;
    EXPECT_EQ(request->result().hint.overload, refuses == 2) << refuses;
    request.reset();
  }
}

TEST_F(ARequest, IsToldNoPauseOfAMirrorThatDoesNotSuit) {
  roles_are(3);
  need.preference.mode = Mode::secondary;
  protection->unavailable.mark_paused(0, now, 4s);
  start();
  auto told = hint(Kind::throttled, 503);
  told.hint.delay = 11s;
  ends(told);
  ends(told);
  EXPECT_EQ(request->result().hint.delay, 11s);
}

// CO-051
TEST_F(ARequest, LooksForAMovedShardAtOtherMirrors) {
  start();
  EXPECT_EQ(ends(hint(Kind::moved, 410)), "check; ask b (moved)");
}

// CO-052
TEST_F(ARequest, IsPlannedAgainWhenTheShardMovedAndAReloadHasItsPlace) {
  start();
  auto told = hint(Kind::moved, 410);
  told.replaced = true;
  EXPECT_EQ(ends(told), "check; finish: agent error");
  EXPECT_TRUE(request->result().plan_again);
}

// CO-055, CO-056
TEST_F(ARequest, ReportsAConflictThatDoesNotEndAs449) {
  retry.max_attempts = 2;
  start();
  EXPECT_EQ(ends(hint(Kind::retry_with, 449)), "ask b (conflict)");
  EXPECT_EQ(ends(hint(Kind::retry_with, 449)), "finish: agent error");
  EXPECT_EQ(request->result().status_override, 449);
}

// CO-056: whatever ends the attempts.
TEST_F(ARequest, ReportsTheSameStatusIfTheBudgetRefusesTheRetry) {
  for (const auto& [kind, status, told] : {std::tuple{Kind::retry_with, 449U, 449},
                                           {Kind::moved, 410U, 503},
                                           {Kind::recreated, 410U, 503}}) {
    mirrors_are(3);
    all_fail();
    use_up_the_budget();
    start();
    EXPECT_TRUE(ends(hint(kind, status)).ends_with("finish: agent error"));
    EXPECT_EQ(request->result().status_override, told);
    request.reset();
  }
  EXPECT_EQ(counted(Count::retries_refused), 3U);
}

// CO-033
TEST_F(ARequest, LeavesAMirrorAloneThatIsTakenAway) {
  start();
  EXPECT_EQ(ends(hint(Kind::draining, 403)), "ask b (moved)");
  at(4min);
  rules.deadline = now + 10s;
  EXPECT_EQ(start(), "ask b");
}

// CO-034, CO-035, CO-077
TEST_F(ARequest, AsksReplicasThenWaitsForTheNewestThenAsksThePrimary) {
  roles_are(3);
  mirrors->known.picture.mirrors[0].role = Role::replica;
  mirrors->known.picture.mirrors[2].role = Role::primary;
  mirrors->known.primary = 2;
  rules.min_generation = 7;
  start();
  auto told = hint(Kind::generation_low, 404);
  told.outcome = Outcome::client_mistake;
  told.generation = 5;
  EXPECT_EQ(ends(told), "ask b (retry)");
  told.generation = 4;
  EXPECT_EQ(ends(told), "ask c (retry)");
  EXPECT_EQ(answers(), "finish: answered");
  EXPECT_EQ(counted(Count::generation_retries), 2U);
  // The next request knows which mirrors are behind.
  EXPECT_EQ(start(), "ask c");
}

TEST_F(ARequest, WaitsForTheNewestOfMirrorsThatAreBehind) {
  mirrors_are(2);
  rules.min_generation = 7;
  start();
  auto told = hint(Kind::generation_low, 404);
  told.generation = 5;
  EXPECT_EQ(ends(told), "ask b (retry)");
  told.generation = 4;
  EXPECT_EQ(ends(told), "ask a (retry)");  // the first step of CO-035 is no pause
  told.generation = 6;
  EXPECT_EQ(ends(told), "wait until 5ms");
  at(5ms);
  EXPECT_EQ(time_passes(), "ask a (retry)");
}

// CO-034
TEST_F(ARequest, AsksNoPrimaryForNewerDataThatIsTakenOut) {
  for (const bool drained : {true, false}) {
    replicas_are_read(7);
    (drained ? mirrors->taken_out.drained : mirrors->taken_out.maint) = these({0});
    EXPECT_EQ(start(), "ask b");
    const auto told = follow_me(Kind::generation_low, 404);
    EXPECT_EQ(ends(told), "ask c (retry)");
    EXPECT_EQ(ends(told), "ask c (retry)");
    EXPECT_EQ(ends(told), "wait until 5ms");
    at(5ms);
    EXPECT_EQ(time_passes(), "ask c (retry)");
    EXPECT_EQ(ends(told), "wait until 30ms");
    at(30ms);
    EXPECT_EQ(time_passes(), "ask c (retry)");
    EXPECT_EQ(ends(told), "ask b (retry)") << "in place of the primary";
    request.reset();
    at(0ms);
  }
}

// A set of which all mirrors are behind, or in conflict, gets no more retries than one that fails.
TEST_F(ARequest, PaysForRetriesThatFindTheSameState) {
  for (const auto& [kind, status] :
       {std::pair{Kind::retry_with, 449U}, {Kind::generation_low, 404U}}) {
    mirrors_are(3);
    std::size_t asked = 0;
    for (int i = 0; i < 40; ++i) {
      start();
      for (++asked; ends(follow_me(kind, status)).starts_with("ask "); ++asked) continue;
      is_cancelled();
      request.reset();
    }
    EXPECT_LE(asked, 40U + 10U + 8U) << status;
    EXPECT_LE(protection->budget.saved(), 1U) << status;
    EXPECT_EQ(waiting, 0U) << status;
  }
}

TEST_F(ARequest, GetsBackWhatItPaidIfNoMirrorHasTheSameState) {
  for (const auto kind : {Kind::retry_with, Kind::generation_low}) {
    start();
    EXPECT_TRUE(ends(follow_me(kind, 449)).starts_with("ask b"));
    EXPECT_EQ(protection->budget.saved(), 9U);
    EXPECT_EQ(answers(), "finish: answered");
    EXPECT_EQ(protection->budget.saved(), 10U);
  }
}

// CO-034: no search is lost while the primary has what it needs.
TEST_F(ARequest, AsksThePrimaryAtOnceIfWaitingForReplicasIsNotPaidFor) {
  replicas_are_read(9);
  use_up_the_budget();
  EXPECT_EQ(start(), "ask b");
  auto told = follow_me(Kind::generation_low, 404);
  told.generation = 6;
  EXPECT_EQ(ends(told), "ask c (retry)");
  EXPECT_EQ(ends(told), "ask a (retry)");
  EXPECT_EQ(answers(), "finish: answered");
  start();
  EXPECT_EQ(ends(told), "ask a (retry)");
  EXPECT_EQ(ends(told), "finish: agent error") << "it is behind, too";
  start();
  EXPECT_EQ(ends(told), "finish: agent error") << "and is known to be";
}

// CO-030, CO-038
TEST_F(ARequest, LeavesTheZoneOfAMirrorThatRefusesConnections) {
  mirrors_are(4);
  for (std::size_t i = 0; i < 4; ++i)
    mirrors->known.picture.mirrors[i].tags = {{"zone", i < 2 ? "x" : "y"}};
  start();
  EXPECT_EQ(ends(Outcome::connect_failed), "check; ask c (zone)");
  EXPECT_EQ(ends(report(Outcome::agent_error, 500)), "ask d (retry)");
  EXPECT_EQ(ends(report(Outcome::agent_error, 500)), "ask b (retry)");
}

// BP-061: only this mirror holds the cursor.
TEST_F(ARequest, AsksTheSameMirrorAgainForAFollowUp) {
  rules.subject.follow_up = true;
  start();
  EXPECT_EQ(ends(hint(Kind::overload)), "wait until 50ms");
  at(50ms);
  EXPECT_EQ(time_passes(), "ask a (overload)");
}

// CO-032
TEST_F(ARequest, SendsAnUpdateToTheNewPrimary) {
  roles_are(3);
  need.operation = Operation::write;
  rules.subject.kind = RequestClass::write;
  EXPECT_EQ(start(), "ask a");
  auto told = report(Outcome::agent_error, 500);
  told.nothing_done = told.marked_unreachable = true;
  EXPECT_EQ(ends(told), "check; wait until 500ms for news");
  mirrors->known.picture.mirrors[0] = {.role = Role::replica, .updated = t0 + 10ms};
  mirrors->known.picture.mirrors[1].role = Role::primary;
  mirrors->known.primary = 1;
  at(20ms);
  EXPECT_EQ(news(), "ask b (retry)");
  EXPECT_EQ(counted(Count::primary_retries), 1U);
}

// Which retries are free, docs/decisions/012

TEST_F(ARequest, PaysNothingForARetryOntoAMirrorThatWorks) {
  while (protection->budget.take(RetryBudget::For::other)) {
  }
  start();
  EXPECT_EQ(ends(report(Outcome::agent_error, 500)), "ask b (retry)");
}

TEST_F(ARequest, StopsWhereNoMirrorWorksAndTheBudgetIsEmpty) {
  for (std::size_t i = 0; i < 3; ++i) protection->standings.ended(i, Outcome::agent_error);
  while (protection->budget.take(RetryBudget::For::other)) {
  }
  start();
  EXPECT_EQ(ends(report(Outcome::agent_error, 500)), "finish: agent error");
  EXPECT_EQ(counted(Count::retries_refused), 1U);
}

// A status 4xx that shows the mirror's state is no mistake of the client, whatever ends the query.
TEST_F(ARequest, ReportsTheStateOfAMirrorAsItsErrorIfARetryIsNotMade) {
  all_fail();
  while (protection->budget.take(RetryBudget::For::other)) {
  }
  for (const auto& [kind, status] : {std::pair{Kind::lost_copy, 410U},
                                     {Kind::draining, 403U},
                                     {Kind::generation_low, 404U},
                                     {Kind::overload, 400U}}) {
    auto told = hint(kind, status);
    told.outcome = Outcome::client_mistake;
    start();
    EXPECT_EQ(ends(told), "finish: agent error") << status;
    EXPECT_EQ(request->failed().size(), 1U);
  }
  EXPECT_EQ(counted(Count::retries_refused), 4U);
}

/// Nothing is known of any mirror, and the budget is empty.
struct AtTheStart : ARequest {
  AtTheStart() {
    protection = std::make_unique<Protection>(3, ProtectionRules{.budget = {.saved = 0}});
    start();
  }
};

TEST_F(AtTheStart, WaitsForTheResultOfAnotherAttempt) {
  std::optional<SetHealth::InFlightGuard> other(std::in_place, protection->standings, 1);
  EXPECT_EQ(ends(report(Outcome::agent_error, 500)), "wait until 500ms for news");
  EXPECT_EQ(waiting, 1U);
  protection->standings.ended(1, Outcome::answered);
  other.reset();
  EXPECT_EQ(news(), "ask b (retry)");
  EXPECT_EQ(waiting, 0U);
  EXPECT_EQ(counted(Count::retries_waited), 1U);
}

TEST_F(AtTheStart, WakesOtherWaitingRequests) {
  protection->standings.wait_begins();
  EXPECT_EQ(answers(), "tell others; finish: answered");
}

TEST_F(AtTheStart, DoesNotWaitBesideTooManyOthers) {
  const SetHealth::InFlightGuard other(protection->standings, 1);
  waiting = 10;
  EXPECT_EQ(ends(report(Outcome::agent_error, 500)), "finish: agent error");
  EXPECT_EQ(counted(Count::retries_refused), 1U);
}

TEST_F(AtTheStart, WaitsForNewsNoLongerThanTheQueryHasTime) {
  const SetHealth::InFlightGuard other(protection->standings, 1);
  ends(report(Outcome::agent_error, 500));
  at(9600ms);
  EXPECT_EQ(time_passes(), "wait until 10000ms for news");
  at(10s);
  EXPECT_EQ(time_passes(), "finish: agent error");
}

// A reply that cannot be merged

TEST_F(ARequest, AsksAnotherMirrorWhenTheMergeRejectsAReply) {
  start();
  EXPECT_EQ(answers(), "finish: answered");
  EXPECT_EQ(take(event::Rejected{"not JSON"}), "ask b (retry)");
  EXPECT_EQ(answers(), "finish: answered");
  EXPECT_EQ(request->failed()[0].why, "not JSON");
  EXPECT_EQ(counted(Count::merge_rejected), 1U);
  EXPECT_TRUE(protection->standings.of(0).failing());
}

TEST_F(ARequest, HasNoAnswerWhenTheMergeRejectsTheLastReply) {
  mirrors_are(1);
  rules.subject.ordinary.per_mirror = 0;
  start();
  answers();
  EXPECT_EQ(take(event::Rejected{"not JSON"}), "finish: wrong reply");
}

TEST_F(ARequest, CancelsAnAttemptAtAnUnreachableMirrorOnlyIfAnotherWouldFollow) {
  start();
  const auto ending = report(Outcome::unreachable);
  const event::MirrorUnreachable unreachable{0, ending};
  EXPECT_EQ(take(unreachable), "cancel 0 (unreachable)");
  mirrors->without_slot = these({1, 2});
  EXPECT_EQ(take(unreachable), "cancel 0 (unreachable)") << "when one is free";
  mirrors->most_waiting = 0;
  EXPECT_EQ(take(unreachable), "");
  EXPECT_EQ(answers(), "finish: answered") << "it went on";
}

// AgentSlots (`max_in_flight`)

TEST_F(ARequest, WaitsForASlotOfAnotherMirrorAfterAnError) {
  for (const auto outcome : {Outcome::broken, Outcome::connect_failed, Outcome::query_timeout}) {
    request.reset();
    mirrors_are(3);
    EXPECT_EQ(start(), "ask a");
    mirrors->without_slot = these({1, 2});
    const auto said = ends(outcome);
    EXPECT_TRUE(said.ends_with("wait until 10000ms for a slot at bc")) << said;
    EXPECT_EQ(take(event::SlotFreed{1}), "ask b (retry)");
    EXPECT_EQ(answers(), "finish: answered");
    EXPECT_EQ(mirrors->queue.waiting, 0U);
  }
}

TEST_F(ARequest, WaitsForASlotOfAMirrorThatWorksRatherThanToAskOneThatFails) {
  protection->standings.ended(1, Outcome::agent_error);
  EXPECT_EQ(start(), "ask a");
  mirrors->without_slot = these({2});
  EXPECT_EQ(ends(Outcome::broken), "wait until 10000ms for a slot at c");
  EXPECT_EQ(take(event::SlotFreed{2}), "ask c (retry)");
}

TEST_F(ARequest, DoesNotWaitWhereTooManyWaitForASlot) {
  mirrors->most_waiting = 0;
  EXPECT_EQ(start(), "ask a");
  mirrors->without_slot = these({1, 2});
  EXPECT_EQ(ends(Outcome::broken), "ask a (retry)");
}

// A whole set was down and its requests used up the budget. Then pings of b and c are answered.
TEST_F(ARequest, IsRetriedWithoutBudgetAtAMirrorWhosePingsAreAnsweredAgain) {
  for (std::size_t i = 0; i < 3; ++i) protection->standings.ended(i, Outcome::connect_failed);
  while (protection->budget.take(RetryBudget::For::untried)) continue;
  mirrors->failed = these({0, 1, 2});
  EXPECT_EQ(start(), "ask a");
  EXPECT_EQ(ends(Outcome::connect_failed), "check; finish: connect failed")
      << "nothing pays for a retry";
  mirrors->failed = these({0});
  at(2s);
  EXPECT_EQ(start(), "ask a") << "a is due for a probe";
  EXPECT_EQ(ends(Outcome::connect_failed), "check; ask b (retry)");
  EXPECT_EQ(answers(), "finish: answered");
}

// Another request's retry, the last that the budget could pay for, will show whether b or c works.
TEST_F(ARequest, WaitsForThePaidRetryOfAnotherInsteadOfBeingLost) {
  for (const bool works : {true, false}) {
    request.reset();
    protection = std::make_unique<Protection>(3, ProtectionRules{});
    all_fail();
    std::vector<RetryBudget::RetryPermit> taken;
    while (auto permit = protection->budget.take(RetryBudget::For::untried))
      taken.push_back(*std::move(permit));
    EXPECT_EQ(start(), "ask a");
    EXPECT_EQ(ends(Outcome::agent_error), "wait until 500ms for news");
    EXPECT_EQ(news(), "wait until 500ms for news");
    if (works) taken.back().succeeded();
    taken.pop_back();
    EXPECT_EQ(news(), works ? "ask b (retry)" : "finish: agent error");
    taken.clear();
  }
}

}  // namespace
}  // namespace karmad::testing
