// What does it cost to report the state of all agents? SHOW AGENT STATUS and GET
// /agents for tables of 1, 16 and 64 agents, and summing one agent's history, which both do for
// each agent.
#include <benchmark/benchmark.h>

#include "agent/dialect/write/write_rows.hpp"
#include "agent/stats/history.hpp"
#include "balancer/status/rows/agent_status.hpp"
#include "balancer/status/status_json.hpp"

namespace karmad {
namespace {

using namespace std::chrono_literals;

/// A table of one shard with one mirror per agent.
Snapshot snapshot_of(std::size_t agents) {
  Snapshot snapshot{.period = 60s};
  TableStatus table{.name = "products", .dialect = "manticore"};
  table.shards.push_back({.strategy = "nodeads", .kind = "flat"});
  for (std::size_t i = 0; i < agents; ++i) {
    AgentStatus agent{.address = "127.0.0.1:" + std::to_string(9300 + i), .references = 1};
    agent.numbers.last_query = 170ms;
    agent.numbers.last_answer = 165ms;
    agent.latency = {.p50 = 1400us, .p95 = 2ms, .p99 = 2040us};
    for (auto& period : agent.periods)
      period = {.queries = 4711, .query_time = 617000us, .connects = 3, .connect_time = 912us};
    snapshot.agents.push_back(std::move(agent));
    table.shards.front().mirrors.push_back(
        {.agent = i, .tables = {"products"}, .weight = 0.25, .probability = 0.25});
  }
  snapshot.tables.push_back(std::move(table));
  return snapshot;
}

void show_agent_status(benchmark::State& state) {
  const auto snapshot = snapshot_of(static_cast<std::size_t>(state.range(0)));
  std::string out;
  for (auto _ : state) {
    const auto result = answer({.show = sql::Show::agent_status, .name = {}, .like = {}}, snapshot);
    if (!result) return state.SkipWithError("no answer");
    out.clear();
    append_sets(RowForm::raw, {&*result, 1}, out);
    benchmark::DoNotOptimize(out.data());
  }
}
BENCHMARK(show_agent_status)->Arg(1)->Arg(16)->Arg(64)->Unit(benchmark::kMicrosecond);

void agents_document(benchmark::State& state) {
  const auto snapshot = snapshot_of(static_cast<std::size_t>(state.range(0)));
  std::string out;
  for (auto _ : state) {
    out.clear();
    append_agents_json(out, snapshot);
    benchmark::DoNotOptimize(out.data());
  }
}
BENCHMARK(agents_document)->Arg(1)->Arg(16)->Arg(64)->Unit(benchmark::kMicrosecond);

/// Cost of reading one agent's numbers, by the number of workers that wrote them.
void history(benchmark::State& state) {
  const auto workers = static_cast<unsigned>(state.range(0));
  History history(workers, 60s);
  const TimePoint now{1000min};
  for (unsigned worker = 0; worker < workers; ++worker)
    history.add(worker, now, {.counter = Counter::succeeded_queries, .took = 700us});
  for (auto _ : state) {
    benchmark::DoNotOptimize(history.over(15, now));
    benchmark::DoNotOptimize(history.quantiles(now));
  }
}
BENCHMARK(history)->Arg(1)->Arg(8)->Arg(64)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace karmad
