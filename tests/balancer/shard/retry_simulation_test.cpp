// No query is lost while an untried mirror works, and retries add little to the load of a failed
// set: for several numbers of mirrors and dead mirrors, rates, kinds of failure, strategies, read
// preferences, weights, shards, hedges and timeouts.
#include "tests/balancer/shard/retry_simulation.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

namespace karmad::testing {
namespace {

struct Load {
  const char* name;
  std::size_t bursts;
  std::size_t each;  ///< requests of a burst
  Micros every;

  Micros lasts() const { return every * static_cast<std::int64_t>(bursts); }
  void put(RetrySimulation& simulation, Micros from = {}) const {
    for (std::size_t b = 0; b < bursts; ++b)
      for (std::size_t i = 0; i < each; ++i)
        simulation.request(from + every * static_cast<std::int64_t>(b));
  }
};
const Load kLoads[] = {
    {"1/s", 120, 1, 1s},           {"100/s", 300, 1, 10ms},        {"3000/s", 400, 1, 333us},
    {"bursts of 5", 30, 5, 100ms}, {"bursts of 60", 6, 60, 100ms}, {"a burst of 300", 1, 300, 1s}};
constexpr Does kFailures[] = {Does::refuse, Does::reset, Does::say_500, Does::say_429};
constexpr const char* kStrategies[] = {"roundrobin", "leastops"};  // by turn, and by load
const RetrySettings kSettings[] = {{}, {.per_mirror = 1, .delay = 500ms}};

std::vector<Does> some(std::size_t mirrors, std::size_t dead, Does how) {
  std::vector<Does> does(mirrors, Does::work);
  for (std::size_t i = 0; i < dead; ++i) does[i] = how;
  return does;
}

/// Numbers of dead mirrors that leave one working: one, half of them, all others.
std::set<std::size_t> some_dead(std::size_t mirrors) {
  return {1, mirrors / 2, mirrors - 1};
}

/// Every combination of the above, with `n` mirrors.
template <class Play>
void for_all(std::size_t mirrors, Play play) {
  std::uint64_t seed = mirrors;
  for (const auto& load : kLoads)
    for (const auto how : kFailures)
      for (const auto* strategy : kStrategies)
        for (const auto& retries : kSettings)
          play(load, how,
               RetrySimulation::Setup{.strategy = strategy, .retries = retries, .seed = ++seed},
               fmt::format("{} mirrors, {}, failure {}, {}, count {}", mirrors, load.name,
                           static_cast<int>(how), strategy, retries.per_mirror.value_or(99)));
}

class RetriesOf : public ::testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(SomeMirrors, RetriesOf, ::testing::Values(2, 3, 4, 8));

TEST_P(RetriesOf, LoseNothingWhileAMirrorThatWorksWasNotTried) {
  for_all(GetParam(), [&](const Load& load, Does how, const auto& setup, const std::string& what) {
    for (const auto dead : some_dead(GetParam())) {
      RetrySimulation simulation(some(GetParam(), dead, how), setup);
      load.put(simulation);
      simulation.run();
      ASSERT_EQ(simulation.lost, 0u) << dead << " dead of " << what;
      ASSERT_EQ(simulation.answered, simulation.requests) << dead << " dead of " << what;
      ASSERT_EQ(simulation.stranded, 0u) << dead << " dead of " << what;
    }
  });
}

TEST_P(RetriesOf, LoseNothingWhenMirrorsDieTogether) {
  for_all(GetParam(), [&](const Load& load, Does how, const auto& setup, const std::string& what) {
    for (const auto dead : some_dead(GetParam())) {
      RetrySimulation simulation(some(GetParam(), 0, how), setup);
      load.put(simulation);
      load.put(simulation, load.lasts() + 1s);
      simulation.change(load.lasts() + 1s, some(GetParam(), dead, how));
      simulation.run();
      ASSERT_EQ(simulation.lost, 0u) << dead << " dead of " << what;
    }
  });
}

// Two faults within a second: the mirror that has just begun to work again is asked by every query
// that the second fault hits, although the budget pays for few. Not after 429, which means pauses.
TEST(RetriesOfAPair, LoseNothingWhenTheOtherFailsBeforeTheFirstIsKnownToWorkAgain) {
  for_all(2, [&](const Load& load, Does how, const auto& setup, const std::string& what) {
    if (how == Does::say_429) return;
    RetrySimulation simulation(some(2, 0, how), setup);
    load.put(simulation);
    load.put(simulation, load.lasts() + 500ms);
    load.put(simulation, 2 * load.lasts() + 900ms);
    simulation.change(load.lasts() + 400ms, {how, Does::work});
    simulation.change(2 * load.lasts() + 800ms, {Does::work, how});
    simulation.run();
    EXPECT_EQ(simulation.lost, 0u) << what;
    EXPECT_EQ(simulation.stranded, 0u) << what;
  });
}

TEST_P(RetriesOf, AddAFifthAndTenWhenNothingWorks) {
  for_all(GetParam(), [&](const Load& load, Does how, const auto& setup, const std::string& what) {
    RetrySimulation simulation(some(GetParam(), GetParam(), how), setup);
    load.put(simulation);
    simulation.run();
    ASSERT_LE(simulation.attempts, simulation.requests * 12 / 10 + 10) << what;
    ASSERT_EQ(simulation.stranded, 0u) << what;
  });
}

// A retry onto a mirror that worked before needs no budget. So each mirror may fail once more than
// the budget allows.
TEST_P(RetriesOf, AddNoMoreWhenAllDieTogether) {
  for_all(GetParam(), [&](const Load& load, Does how, const auto& setup, const std::string& what) {
    RetrySimulation simulation(some(GetParam(), 0, how), setup);
    load.put(simulation);
    simulation.change(load.lasts(), some(GetParam(), GetParam(), how));
    load.put(simulation, load.lasts());
    simulation.run();
    const auto after = load.bursts * load.each;
    EXPECT_LE(simulation.attempts - (simulation.requests - after),
              after + (after + simulation.at_change) / 5 + 10 + 1)
        << what;
  });
}

TEST_P(RetriesOf, AddAtMostAHalfWhenEverySecondAnswerIsNone) {
  for (const auto& load : kLoads)
    for (const auto* strategy : kStrategies)
      for (const auto& retries : kSettings) {
        std::size_t requests = 0;
        std::size_t attempts = 0;
        constexpr std::size_t rounds = 10;  // chance evens out
        for (std::uint64_t seed = 1; seed <= rounds; ++seed) {
          RetrySimulation simulation(some(GetParam(), GetParam(), Does::fail_half),
                                     {.strategy = strategy, .retries = retries, .seed = seed});
          load.put(simulation);
          simulation.run();
          requests += simulation.requests;
          attempts += simulation.attempts;
          EXPECT_EQ(simulation.stranded, 0u);
        }
        EXPECT_LE(attempts, requests * 15 / 10 + 10 * rounds)
            << GetParam() << " mirrors, " << load.name << ", " << strategy;
      }
}

// A mirror that is back is found, and a set that was wholly dead recovers.
TEST_P(RetriesOf, RecoverWithTheSet) {
  for (const auto how : kFailures) {
    RetrySimulation simulation(some(GetParam(), GetParam(), how), {});
    kLoads[1].put(simulation);
    simulation.change(kLoads[1].lasts(), some(GetParam(), GetParam() - 1, how));
    kLoads[1].put(simulation, kLoads[1].lasts());
    kLoads[1].put(simulation, kLoads[1].lasts() * 2);
    const auto before = kLoads[1].bursts;
    simulation.run();
    // Retries at overloaded mirrors pause, so the one that has recovered is found later.
    const auto lost = how == Does::say_429 ? 120U : 60U;
    EXPECT_GE(simulation.answered, before * 2 - lost) << GetParam() << " " << static_cast<int>(how);
  }
}

Tags tags(std::initializer_list<std::pair<const char*, const char*>> all) {
  Tags tags;
  for (const auto& [name, value] : all) tags.push_back({name, value});
  return tags;
}

/// A primary and three replicas in two data centres.
SimulatedSet with_roles(std::string name, ReadPreference preference,
                        std::vector<double> weights = {}) {
  SimulatedSet set{.name = std::move(name), .preference = std::move(preference)};
  set.weights = std::move(weights);
  set.picture.kind = SetKind::roles;
  set.picture.ping_interval = 1s;
  for (const auto* dc : {"a", "a", "b", "b"})
    set.picture.mirrors.push_back(
        {.role = Role::replica, .tags = tags({{"dc", dc}, {"zone", dc}})});
  set.picture.mirrors[0].role = Role::primary;
  return set;
}

SimulatedSet with_tags_in_flat(std::string name, std::vector<Tags> tag_sets) {
  auto set = with_roles(std::move(name), {.mode = Mode::nearest, .tag_sets = std::move(tag_sets)});
  set.picture.kind = SetKind::flat;
  set.picture.tags_in_flat = true;
  for (auto& mirror : set.picture.mirrors) mirror.role = Role::router;
  return set;
}

std::vector<SimulatedSet> preferences() {
  const auto a = tags({{"dc", "a"}});
  const auto b = tags({{"dc", "b"}});
  std::vector<SimulatedSet> all{
      with_roles("secondaryPreferred", {.mode = Mode::secondary_preferred}),
      with_roles("primaryPreferred", {.mode = Mode::primary_preferred}),
      with_roles("nearest", {.mode = Mode::nearest}),
      with_roles("primary", {.mode = Mode::primary}),
      with_roles("secondary", {.mode = Mode::secondary}),
      with_roles("secondary, dc:b", {.mode = Mode::secondary, .tag_sets = {b}}),
      with_roles("nearest, dc:a|", {.mode = Mode::nearest, .tag_sets = {a, {}}}),
      with_roles(
          "nearest, zone:b|zone:a",
          {.mode = Mode::nearest, .tag_sets = {tags({{"zone", "b"}}), tags({{"zone", "a"}})}}),
      with_roles("secondaryPreferred, dc:b|dc:a",
                 {.mode = Mode::secondary_preferred, .tag_sets = {b, a}}),
      with_roles("secondaryPreferred, primary without weight", {.mode = Mode::secondary_preferred},
                 {0, 1, 1, 1}),
      with_roles("secondaryPreferred, replicas without weight", {.mode = Mode::secondary_preferred},
                 {1, 0, 0, 1}),
      with_tags_in_flat("flat, dc:a|dc:b", {a, b}),
      with_tags_in_flat("flat, dc:b|", {b, {}})};
  all.push_back({.name = "flat"});
  all.push_back(
      {.name = "flat with weights", .picture = {}, .preference = {}, .weights = {0, 1, 0, 2}});
  return all;
}

/// A set, its failing mirrors and everything else that a query meets, by chance.
struct Trial {
  std::vector<Does> does;
  const Load* load;
  RetrySimulation::Setup setup;
  std::string what;
};

Trial drawn(std::uint64_t seed, std::span<const Does> failures) {
  static const auto sets = preferences();
  constexpr const char* strategies[] = {"random",   "roundrobin", "nodeads",
                                        "noerrors", "leastops",   "adaptive"};
  SeededRandom random(seed);
  Trial trial;
  trial.setup.seed = seed;
  trial.setup.set = sets[seed % sets.size()];
  trial.setup.strategy = strategies[random.below(std::size(strategies))];
  trial.setup.retries = kSettings[random.below(std::size(kSettings))];
  trial.setup.shards = 1 + random.below(3) / 2;
  if (random.below(3) == 0)
    trial.setup.hedging.setting = {.kind = HedgeSetting::Kind::after, .after = 8ms};
  trial.load = &kLoads[random.below(std::size(kLoads))];
  trial.what = fmt::format("seed {}: {}, {}, {}, {} shards, hedge {}, does", seed,
                           trial.setup.set.name, trial.load->name, trial.setup.strategy,
                           trial.setup.shards, text(trial.setup.hedging.setting));
  for (std::size_t i = 0; i < 4; ++i) {
    const bool works = random.below(5) < 2;
    trial.does.push_back(works ? Does::work : failures[random.below(failures.size())]);
    trial.what += fmt::format(" {}", static_cast<int>(trial.does.back()));
  }
  return trial;
}

// While a mirror of any level of the preference works and was not tried, no query is lost,
// whatever the budget says of retries onto failing ones.
TEST(RetriesByPreference, LoseNothingWhileAMirrorOfAnyLevelWorks) {  // SS-146, X-19
  constexpr Does failures[] = {Does::refuse, Does::reset, Does::say_500, Does::fail_half};
  for (std::uint64_t seed = 1; seed <= 120; ++seed) {
    const auto trial = drawn(seed, failures);
    RetrySimulation simulation(trial.does, trial.setup);
    trial.load->put(simulation);
    simulation.run();
    EXPECT_EQ(simulation.lost, 0u) << trial.what;
    EXPECT_EQ(simulation.stranded, 0u) << trial.what;
    if (!simulation.can_be_answered()) continue;
    EXPECT_EQ(simulation.failed, 0u) << trial.what;
  }
}

// The first choice is a mirror that works: a level whose mirrors all fail is left out, and asked
// again by single queries, which bring it back.
TEST(RetriesByPreference, LeaveOutALevelThatFailsAndFindItAgain) {  // SS-146
  for (const auto how : kFailures)
    for (const auto* strategy : {"random", "roundrobin", "leastops"}) {
      RetrySimulation simulation(
          {Does::work, how, how, how},
          {.strategy = strategy, .set = with_roles("", {.mode = Mode::secondary_preferred})});
      kLoads[1].put(simulation);  // 3 s
      simulation.run();
      EXPECT_EQ(simulation.failed, 0u) << strategy;
      const auto wasted = simulation.attempts - simulation.attempts_at[0];
      EXPECT_LE(wasted, 3u * (3 + 3) + 9) << strategy << " " << static_cast<int>(how);

      RetrySimulation back(
          {Does::work, how, how, how},
          {.strategy = strategy, .set = with_roles("", {.mode = Mode::secondary_preferred})});
      kLoads[1].put(back);
      back.change(3s, some(4, 0, how));
      kLoads[1].put(back, 3s);
      kLoads[1].put(back, 6s);
      back.run();
      EXPECT_EQ(back.failed, 0u) << strategy;
      EXPECT_GE(back.attempts - back.attempts_at[0], 450u) << strategy << static_cast<int>(how);
    }
}

// Modes that name one kind of mirror never leave it.
TEST(RetriesByPreference, StayWhereThePreferenceIsStrict) {  // SS-032, SS-034, SS-063
  const auto b = tags({{"dc", "b"}});
  const struct {
    SimulatedSet set;
    Candidates may;
  } cases[] = {
      {with_roles("primary", {.mode = Mode::primary}), Candidates::from_bits(0b0001)},
      {with_roles("secondary", {.mode = Mode::secondary}), Candidates::from_bits(0b1110)},
      {with_roles("dc:b", {.mode = Mode::nearest, .tag_sets = {b}}), Candidates::from_bits(0b1100)},
      {with_tags_in_flat("flat", {b}), Candidates::from_bits(0b1100)}};
  for (const auto& c : cases) {
    std::vector<Does> does(4, Does::work);
    for (const auto mirror : c.may) does[mirror] = Does::say_500;
    RetrySimulation simulation(does, {.set = c.set});
    kLoads[1].put(simulation);
    simulation.run();
    EXPECT_EQ(simulation.answered, 0u) << c.set.name;
    EXPECT_EQ(simulation.lost, 0u) << c.set.name;
    for (const auto other : Candidates::first(4) - c.may)
      EXPECT_EQ(simulation.attempts_at[other], 0u) << c.set.name;
  }
}

// A set that fails in all levels gets no more than a flat one.
TEST(RetriesByPreference, AddAFifthAndTenWhenNoLevelWorks) {
  for (std::uint64_t seed = 1; seed <= 80; ++seed) {
    constexpr Does failures[] = {Does::refuse, Does::reset, Does::say_500};
    auto trial = drawn(seed, failures);
    trial.setup.shards = 1;
    trial.setup.hedging = {};
    trial.does.assign(4, failures[seed % std::size(failures)]);
    RetrySimulation simulation(trial.does, trial.setup);
    trial.load->put(simulation);
    simulation.run();
    EXPECT_LE(simulation.attempts, simulation.requests * 12 / 10 + 10) << trial.what;
    EXPECT_EQ(simulation.stranded, 0u) << trial.what;
  }
}

// One mirror answers pings and never a search: only searches of the first moments are lost.
TEST(RetriesAfterATimeout, LoseNothingOnceTheSilentMirrorIsKnown) {  // HA-026, X-18
  const Load loads[] = {{"1/s", 60, 1, 1s}, {"100/s", 1500, 1, 10ms}, {"10/s", 300, 1, 100ms}};
  for (const auto& load : loads)
    for (const auto* strategy : {"random", "roundrobin", "nodeads", "adaptive"})
      for (const auto mirrors : {2u, 3u, 5u}) {
        RetrySimulation simulation(some(mirrors, 1, Does::hang), {.strategy = strategy});
        load.put(simulation);
        simulation.run();
        const auto what = fmt::format("{} {} {}", load.name, strategy, mirrors);
        EXPECT_LE(simulation.last_lost, 4s) << what;
        EXPECT_EQ(simulation.stranded, 0u) << what;
        if (load.every == 1s) {
          EXPECT_EQ(simulation.failed, 0u) << what;
        }
        // After that, single searches probe it.
        EXPECT_LE(simulation.attempts_at[0], 4s / load.every + 10) << what;
      }
}

}  // namespace
}  // namespace karmad::testing
