// Cost of a request's shared bookkeeping with 1 … 64 threads at once: the pick, the in-flight
// count, the retry budget, and recording the outcome. With more threads than cores, the time per
// item must not grow with the number of threads.
#include <benchmark/benchmark.h>

#include "agent/mirrors/attempt.hpp"
#include "balancer/rules/protection.hpp"
#include "strategies/kinds/registry.hpp"

namespace karmad {
namespace {

constexpr unsigned kMostThreads = 64;
constexpr Micros kPeriod = std::chrono::seconds(60);
constexpr TimePoint kNow{1000 * kPeriod};

/// A shard with four mirrors, as a worker sees it.
struct Shared {
  explicit Shared(std::string_view strategy) {
    std::vector<std::unique_ptr<Mirror>> mirrors;
    for (std::size_t i = 0; i < 4; ++i)
      mirrors.push_back(std::make_unique<Mirror>(
          std::make_shared<Agent>(
              Address{.host = "127.0.0.1", .port = static_cast<std::uint16_t>(i + 1)}, i,
              kMostThreads, kPeriod),
          std::vector<std::string>{"t"}, kMostThreads, kPeriod));
    set = std::make_shared<MirrorSet>(std::move(mirrors),
                                      SetOptions{.strategy = make_strategy(strategy, {}),
                                                 .strategy_name = std::string(strategy),
                                                 .period = kPeriod,
                                                 .workers = kMostThreads,
                                                 .state = {.kind = SetKind::flat}},
                                      loops);
    set->refresh(kNow);
  }

  Loops loops;
  std::shared_ptr<MirrorSet> set;
  Protection protection{4, {}, kMostThreads};
};

Shared& shared(std::string_view strategy) {
  static Shared random("random");
  static Shared nodeads("nodeads");
  static Shared leastops("leastops");
  return strategy == "random" ? random : strategy == "nodeads" ? nodeads : leastops;
}

void pick(benchmark::State& state, std::string_view strategy) {
  const auto& set = *shared(strategy).set;
  const auto worker = static_cast<unsigned>(state.thread_index());
  SeededRandom random(worker + 1);
  for (auto _ : state) benchmark::DoNotOptimize(set.pick({}, worker, random));
  state.SetItemsProcessed(state.iterations());
}

void request(benchmark::State& state, std::string_view strategy) {
  auto& [loops, set, protection] = shared(strategy);
  const auto worker = static_cast<unsigned>(state.thread_index());
  SeededRandom random(worker + 1);
  AttemptResult result;
  result.outcome = Outcome::answered;
  result.took = Micros(700);
  for (auto _ : state) {
    const RetryBudget::InFlightPermit live(protection.budget, worker);
    auto& mirror = (*set)[set->pick({}, worker, random)->mirror];
    {
      const Flight flight(mirror.agent->counters.in_flight);
      benchmark::DoNotOptimize(&mirror);
    }
    record(mirror, set->failure_floor(), worker, kNow, result);
  }
  state.SetItemsProcessed(state.iterations());
}

BENCHMARK_CAPTURE(pick, random, "random")->ThreadRange(1, kMostThreads)->UseRealTime();
BENCHMARK_CAPTURE(pick, leastops, "leastops")->ThreadRange(1, kMostThreads)->UseRealTime();
BENCHMARK_CAPTURE(request, random, "random")->ThreadRange(1, kMostThreads)->UseRealTime();
BENCHMARK_CAPTURE(request, leastops, "leastops")->ThreadRange(1, kMostThreads)->UseRealTime();

}  // namespace
}  // namespace karmad
