// No query is lost while an untried mirror works, and retries add little to the load of a failed
// set: for several numbers of mirrors and dead mirrors, rates, kinds of failure and strategies.
#include "tests/balancer/shard/retry_simulation.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

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
    {"1/s", 200, 1, 1s},           {"100/s", 300, 1, 10ms},        {"3000/s", 600, 1, 333us},
    {"bursts of 5", 40, 5, 100ms}, {"bursts of 60", 6, 60, 100ms}, {"a burst of 500", 1, 500, 1s}};
constexpr Does kFailures[] = {Does::refuse, Does::reset, Does::say_500};
#if defined(__SANITIZE_ADDRESS__)
constexpr const char* kStrategies[] = {"nodeads"};  // the others take the same steps, and time
#else
constexpr const char* kStrategies[] = {"roundrobin", "leastops"};  // by turn, and by load
#endif
const RetrySettings kSettings[] = {{}, {.per_mirror = 1, .delay = 500ms}};

std::vector<Does> some(std::size_t mirrors, std::size_t dead, Does how) {
  std::vector<Does> does(mirrors, Does::work);
  for (std::size_t i = 0; i < dead; ++i) does[i] = how;
  return does;
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
    for (std::size_t dead = 1; dead < GetParam(); ++dead) {
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
    for (std::size_t dead = 1; dead < GetParam(); ++dead) {
      RetrySimulation simulation(some(GetParam(), 0, how), setup);
      load.put(simulation);
      load.put(simulation, load.lasts() + 1s);
      simulation.change(load.lasts() + 1s, some(GetParam(), dead, how));
      simulation.run();
      ASSERT_EQ(simulation.lost, 0u) << dead << " dead of " << what;
    }
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
    EXPECT_GE(simulation.answered, before * 2 - 60) << GetParam() << " " << static_cast<int>(how);
  }
}

}  // namespace
}  // namespace karmad::testing
