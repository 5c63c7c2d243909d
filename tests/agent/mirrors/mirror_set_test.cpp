#include "agent/mirrors/mirror_set.hpp"

#include <gtest/gtest.h>

#include "agent/mirrors/attempt.hpp"
#include "strategies/kinds/registry.hpp"

namespace karmad {
namespace {

using namespace std::chrono_literals;

constexpr Micros kPeriod = 60s;

/// Mirrors on agents of their own, and a clock that the test moves.
struct Cluster {
  explicit Cluster(std::size_t size, std::string_view strategy = "nodeads", bool compound = true) {
    std::vector<std::unique_ptr<Mirror>> mirrors;
    for (std::size_t i = 0; i < size; ++i) {
      agents.push_back(std::make_shared<Agent>(
          Address{.host = "mirror", .port = static_cast<std::uint16_t>(i + 1)}, i, 1, kPeriod));
      mirrors.push_back(
          std::make_unique<Mirror>(agents.back(), std::vector<std::string>{"t"}, 1, kPeriod));
    }
    set = std::make_shared<MirrorSet>(std::move(mirrors),
                                      SetOptions{.strategy = make_strategy(strategy, {}),
                                                 .strategy_name = std::string(strategy),
                                                 .karma = {.compound = compound},
                                                 .period = kPeriod,
                                                 .state = {.kind = SetKind::flat}},
                                      loops);
    set->refresh(now);
  }

  void ended(std::size_t mirror, Outcome outcome, Micros took) {
    AttemptResult result;
    result.outcome = outcome;
    result.took = took;
    result.why = "because";
    record((*set)[mirror], set->failure_floor(), 0, now, result);
  }
  void next_period() {
    now += kPeriod;
    set->refresh(now);
  }
  double karma(std::size_t mirror) const { return (*set)[mirror].karma(); }
  std::uint32_t errors(std::size_t mirror) const {
    return agents[mirror]->counters.errors_in_a_row;
  }

  TimePoint now{1000 * kPeriod};
  std::vector<std::shared_ptr<Agent>> agents;
  Loops loops;
  std::shared_ptr<MirrorSet> set;
};

TEST(MirrorSet, WeighsByTheLatenciesOfTheClosedPeriod) {  // HA-005, HA-006
  for (const bool compound : {true, false}) {
    Cluster cluster(3, "nodeads", compound);
    for (int i = 0; i < 10; ++i) {
      cluster.ended(0, Outcome::answered, 5ms);
      cluster.ended(1, Outcome::answered, 20ms);
      cluster.ended(2, Outcome::answered, 80ms);
    }
    cluster.set->refresh(cluster.now);
    EXPECT_NEAR(cluster.karma(0), 1.0 / 3, 1e-9);  // not before the period has ended
    cluster.next_period();
    EXPECT_NEAR(cluster.karma(0), 0.761905, 1e-6);
    EXPECT_NEAR(cluster.karma(1), 0.190476, 1e-6);
    EXPECT_NEAR(cluster.karma(2), 0.047619, 1e-6);
  }
}

TEST(MirrorSet, AnOperationThatBeginsOrEndsWakesNoWaitingSelection) {  // SS-115
  Cluster cluster(2);
  Loop loop(0, 1 << 20, 1);
  Stop stop(loop);
  bool woken = false;
  spawn([](MirrorSet& set, Loop& on, Stop& until, bool& told) -> Task<void> {
    co_await set.news(on, Loop::now() + 1h, until);
    told = true;
  }(*cluster.set, loop, stop, woken));
  const auto turn = [&] {
    loop.io.restart();
    loop.io.poll();
  };
  for (const auto& agent : cluster.agents) {
    auto slot = agent->slots.try_take();
    ASSERT_TRUE(slot);
    EXPECT_EQ(agent->counters.in_flight, 1U);
    turn();
    EXPECT_FALSE(woken) << "it began";
    slot.reset();
    EXPECT_EQ(agent->counters.in_flight, 0U);
    turn();
    EXPECT_FALSE(woken) << "it ended";
  }
  cluster.set->wake_waiters();
  turn();
  EXPECT_TRUE(woken);
}

TEST(MirrorSet, CountsPingsAsSuccessesAndErrorsButNeverAsLatency) {  // X-7, HA-025
  Cluster cluster(2);
  AttemptResult ping;
  ping.outcome = Outcome::answered;
  ping.took = 1us;
  for (int i = 0; i < 10; ++i) record_ping(*cluster.agents[0], 0, cluster.now, 1us, ping);
  cluster.ended(0, Outcome::answered, 20ms);
  cluster.ended(1, Outcome::answered, 10ms);
  cluster.next_period();
  EXPECT_NEAR(cluster.karma(0), 1.0 / 3, 1e-6);
  const auto totals = cluster.agents[0]->history.over(2, cluster.now);
  EXPECT_EQ(totals.count(Counter::succeeded_queries), 11u);
  EXPECT_EQ(totals.queries, 1u);
}

TEST(MirrorSet, AFailureNeverMakesAMirrorLookFast) {
  Cluster cluster(3);
  cluster.ended(0, Outcome::answered, 10ms);
  cluster.ended(1, Outcome::answered, 30ms);
  cluster.set->refresh(cluster.now);
  EXPECT_EQ(cluster.set->failure_floor(), 30ms);
  for (int i = 0; i < 100; ++i) cluster.ended(2, Outcome::connect_failed, 50us);
  cluster.next_period();
  EXPECT_NEAR(cluster.karma(2), cluster.karma(1), 1e-9);
  EXPECT_LT(cluster.karma(2), cluster.karma(0));
}

TEST(MirrorSet, MeasuresItsRecentAnswersOnceASecond) {  // CO-080
  Cluster cluster(2);
  for (int i = 0; i < 99; ++i) cluster.ended(i % 2 == 0 ? 0 : 1, Outcome::answered, 10ms);
  cluster.ended(1, Outcome::query_timeout, 3s);    // slower than can be known
  cluster.ended(1, Outcome::connect_failed, 1us);  // says nothing of how long answers take
  cluster.now += 900ms;
  cluster.set->refresh(cluster.now);
  EXPECT_EQ(cluster.set->recent_latency(), RecentLatency{});
  cluster.now += 100ms;
  cluster.set->refresh(cluster.now);
  const auto recent = cluster.set->recent_latency();
  EXPECT_EQ(recent.samples, 100u);
  EXPECT_EQ(recent.p95, latency_of_bucket(latency_bucket(10ms)));
  EXPECT_EQ(recent.p99, latency_of_bucket(latency_bucket(10ms)));
}

TEST(MirrorSet, AnUpdateIsNoMeasureForSearches) {
  Cluster cluster(1);
  auto& mirror = (*cluster.set)[0];
  AttemptResult ended;
  ended.outcome = Outcome::answered;
  const auto kept = [&](Micros took, bool update) {
    ended.took = took;
    ended.update = update;
    cluster.now += 1s;
    record(mirror, cluster.set->failure_floor(), 0, cluster.now, ended);
    std::vector<RecentAnswer> answers;
    mirror.record->answers.append(cluster.now, 1h, answers);
    return answers.size();
  };
  EXPECT_EQ(kept(1ms, false), 1U);
  EXPECT_EQ(kept(60ms, true), 1U);
  EXPECT_EQ(kept(2ms, false), 2U);
  ended.outcome = Outcome::agent_error;
  EXPECT_EQ(kept(3ms, false), 2U) << "nor is an error";
}

TEST(MirrorSet, ATimeOutIsOneOfTheFailuresInARowUnlessALaterSearchWasAnswered) {
  Cluster cluster(1);
  const auto in_a_row = [&] { return (*cluster.set)[0].signals.failures_in_a_row(); };
  cluster.now += 10s;
  cluster.ended(0, Outcome::answered, 10ms);
  cluster.now += 1s;
  cluster.ended(0, Outcome::query_timeout, 3s);
  EXPECT_EQ(in_a_row(), 0U) << "sent two seconds before the answer";
  cluster.now += 1s;
  cluster.ended(0, Outcome::query_timeout, 1500ms);
  EXPECT_EQ(in_a_row(), 1U);
  cluster.ended(0, Outcome::agent_error, 3s);
  EXPECT_EQ(in_a_row(), 2U) << "an error is no matter of time";
}

TEST(MirrorSet, AMirrorThatLostTheRaceHasNoFastLatency) {  // CO-081
  Cluster cluster(2);
  for (int i = 0; i < 90; ++i) cluster.ended(0, Outcome::answered, 10ms);
  AttemptResult outrun;
  outrun.outcome = Outcome::cancelled;
  outrun.took = 60ms;
  outrun.lost_race = outrun.sent = true;
  for (int i = 0; i < 10; ++i)
    record((*cluster.set)[1], cluster.set->failure_floor(), 0, cluster.now, outrun);
  outrun.lost_race = false;  // a hedge that came too late says nothing
  outrun.took = 1ms;
  record((*cluster.set)[1], cluster.set->failure_floor(), 0, cluster.now, outrun);
  cluster.now += 1s;
  cluster.set->refresh(cluster.now);
  EXPECT_EQ(cluster.set->recent_latency().samples, 100u);
  EXPECT_EQ(cluster.set->recent_latency().p95, latency_of_bucket(latency_bucket(60ms)));
  EXPECT_EQ(cluster.errors(1), 0u);
  cluster.next_period();
  EXPECT_LT(cluster.karma(1), cluster.karma(0));
}

TEST(MirrorSet, KnowsHowBusyItUsuallyIs) {
  Cluster cluster(3);
  for (int i = 0; i < 3; ++i) cluster.agents[static_cast<std::size_t>(i)]->counters.in_flight = 5;
  cluster.agents[1]->counters.in_flight = 300;  // it stalls
  EXPECT_FALSE(cluster.set->load().usual);
  for (int i = 0; i < 200; ++i) cluster.set->refresh(cluster.now += 100ms);
  EXPECT_EQ(cluster.set->load().median, 5u);
  EXPECT_NEAR(cluster.set->load().usual.value(), 5, 0.01);
  for (const auto& agent : cluster.agents) agent->counters.in_flight = 50;
  cluster.set->refresh(cluster.now += 100ms);
  EXPECT_EQ(cluster.set->load().median, 50u);
  EXPECT_LT(cluster.set->load().usual.value(), 6);
}

TEST(MirrorSet, NeedsARefreshWhileItIsAskedAndElseEveryTwoSeconds) {
  Cluster cluster(3);
  auto& set = *cluster.set;
  const auto needs_refresh = [&] {
    return set.refresh_is_due(cluster.now += 100ms) || set.is_asked();
  };
  EXPECT_FALSE(needs_refresh());
  set[2].tally.attempted(0);
  EXPECT_TRUE(needs_refresh());
  set.refresh(cluster.now);
  EXPECT_FALSE(needs_refresh());
  {
    struct Attempt final : AttemptInFlight {
      using AttemptInFlight::AttemptInFlight;
      void unreachable() override {}
    };
    Attempt attempt(1, cluster.now);
    set.watch(attempt, 0);
    set.refresh(cluster.now);
    EXPECT_TRUE(needs_refresh()) << "an attempt is in flight";
  }
  EXPECT_TRUE(needs_refresh()) << "it has ended since";
  set.refresh(cluster.now);
  for (int i = 1; i < 20; ++i) EXPECT_FALSE(needs_refresh()) << i;
  EXPECT_TRUE(needs_refresh());
}

TEST(MirrorSet, AMirrorWithoutASampleKeepsItsWeight) {  // HA-021
  Cluster cluster(3);
  cluster.ended(0, Outcome::answered, 5ms);
  cluster.ended(1, Outcome::answered, 15ms);
  cluster.next_period();
  EXPECT_NEAR(cluster.karma(2), 1.0 / 3, 1e-9);
  EXPECT_NEAR(cluster.karma(0), 0.5, 1e-9);
}

TEST(Record, AMirrorIsDeadAfterFourErrorsInARowAndAliveAfterOneCleanAnswer) {  // HA-022, HA-025
  Cluster cluster(2);
  SeededRandom random(1);
  for (int i = 0; i < 4; ++i) cluster.ended(0, Outcome::closed_early, 1ms);
  EXPECT_EQ(cluster.errors(0), 4u);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(cluster.set->pick({.avoided = {}}, 0, random)->mirror, 1u);
  cluster.ended(0, Outcome::answered_with_warning, 1ms);  // neither adds nor resets
  EXPECT_EQ(cluster.errors(0), 4u);
  cluster.ended(0, Outcome::client_mistake, 1ms);
  EXPECT_EQ(cluster.errors(0), 4u);
  cluster.ended(0, Outcome::cancelled, 1ms);
  EXPECT_EQ(cluster.errors(0), 4u);
  AttemptResult ping;
  ping.outcome = Outcome::answered;
  record_ping(*cluster.agents[0], 0, cluster.now, 1us, ping);
  EXPECT_EQ(cluster.errors(0), 0u);
  int picked = 0;
  for (int i = 0; i < 200; ++i)
    picked += cluster.set->pick({.avoided = {}}, 0, random)->mirror == 0 ? 1 : 0;
  EXPECT_GT(picked, 50);
}

TEST(MirrorSet, NoErrorsForgetsWhatIsOlderThanOneAndAHalfPeriods) {  // HA-010, HA-023
  Cluster cluster(2, "noerrors");
  SeededRandom random(1);
  for (int i = 0; i < 10; ++i) {
    cluster.ended(0, Outcome::answered, 1ms);
    cluster.ended(1, Outcome::answered, 1ms);
  }
  cluster.ended(0, Outcome::broken, 1ms);  // 1 of 11 is more than 3 %
  cluster.set->refresh(cluster.now);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(cluster.set->pick({.avoided = {}}, 0, random)->mirror, 1u);
  // Second 29 of the next block: the block before still counts. Second 30: no more.
  cluster.now += kPeriod + 29s;
  cluster.ended(0, Outcome::answered, 1ms);
  cluster.ended(1, Outcome::answered, 1ms);
  cluster.set->refresh(cluster.now);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(cluster.set->pick({.avoided = {}}, 0, random)->mirror, 1u);
  cluster.now += 1s;
  cluster.set->refresh(cluster.now);
  int picked = 0;
  for (int i = 0; i < 200; ++i)
    picked += cluster.set->pick({.avoided = {}}, 0, random)->mirror == 0 ? 1 : 0;
  EXPECT_GT(picked, 50);
}

TEST(MirrorSet, ARetryAvoidsTheMirrorsThatWereTried) {
  for (const auto strategy : strategy_names()) {
    Cluster cluster(3, strategy);
    SeededRandom random(1);
    Candidates tried;
    for (int i = 0; i < 3; ++i) {
      const auto picked = cluster.set->pick({.avoided = tried}, 0, random)->mirror;
      EXPECT_FALSE(tried.contains(picked)) << strategy;
      tried.insert(picked);
    }
    EXPECT_LT(cluster.set->pick({.avoided = tried}, 0, random)->mirror, 3u)
        << strategy;  // all were: any is good
  }
}

TEST(MirrorSet, ComputesTheProbabilityOfEachMirror) {
  Cluster cluster(2);
  for (int i = 0; i < 4; ++i) cluster.ended(0, Outcome::connect_timeout, 1ms);
  EXPECT_EQ(cluster.set->shares({}, 0), (std::vector<double>{0.0, 1.0}));
}

}  // namespace
}  // namespace karmad
