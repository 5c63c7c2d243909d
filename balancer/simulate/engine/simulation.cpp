#include "balancer/simulate/engine/simulation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>

#include "balancer/simulate/engine/arrivals.hpp"
#include "balancer/simulate/engine/oracle.hpp"
#include "balancer/simulate/engine/recorded_result.hpp"
#include "balancer/simulate/masters/masters.hpp"
#include "balancer/simulate/masters/simulated_settings.hpp"
#include "config/text/closest.hpp"
#include "strategies/kinds/registry.hpp"

namespace karmad {
namespace {

class Run {
 public:
  Run(const Scenario& scenario, std::uint64_t seed)
      : world_(scenario, seed), arrivals_(arrivals_of(world_)) {}

  /// `settings`: of the masters; null: the oracle balances.
  SimulationResult play(const Settings* settings) {
    if (settings != nullptr) {
      balancer_ = std::make_unique<Masters>(world_, *settings);
    } else {
      balancer_ = std::make_unique<Oracle>(world_);
    }
    for (std::uint32_t i = 0; i < world_.scenario.changes.size(); ++i)
      world_.events.add_at(world_.begin + world_.scenario.changes[i].time,
                           {.subject = i, .kind = EventKind::scenario_changes});
    plan_arrival();
    while (arrival_ || balancer_->in_progress() != 0) {
      const auto event = world_.events.pop();
      world_.recorder.advance(event.at);
      world_.now = event.at;
      handle(event);
    }
    return world_.recorder.result();
  }

 private:
  void plan_arrival() {
    arrival_ = arrivals_->next();
    if (arrival_) world_.events.add_at(arrival_->at, {.kind = EventKind::request_arrives});
  }

  void handle(const SimulatedEvent& event) {
    switch (event.kind) {
      case EventKind::request_arrives: {
        const auto arrival = *arrival_;
        plan_arrival();
        return balancer_->request_arrives(arrival.master, arrival.set);
      }
      case EventKind::attempt_arrives:
        return world_.fleet.attempt_arrives(event);
      case EventKind::work_done:
        return world_.fleet.work_done(event);
      case EventKind::mirror_replies:
        return world_.fleet.mirror_replies(event);
      case EventKind::scenario_changes:
        return change(world_.scenario.changes[event.subject]);
      default:
        return balancer_->handle(event);
    }
  }

  void change(const MirrorChange& change) {
    const auto& range = change.mirrors;
    const auto last = range.is_all() ? world_.scenario.mirrors : range.last;
    for (auto mirror = range.first - 1; mirror < last; ++mirror) {
      const bool reset = world_.fleet.change(mirror, change.profile, world_.now);
      balancer_->mirror_changed(mirror, reset);
    }
  }

  SimulatedWorld world_;
  std::unique_ptr<Arrivals> arrivals_;
  std::unique_ptr<SimulatedBalancer> balancer_;
  std::optional<SimulatedArrival> arrival_;  ///< the next one
};

std::optional<Problem> unknown_strategy(std::string_view strategy) {
  const auto names = strategy_names();
  if (strategy == kOracleName || std::ranges::find(names, strategy) != names.end())
    return std::nullopt;
  return Problem{{},
                 fmt::format("unknown strategy {}{}; known: {}", in_quotes(strategy),
                             suggestion(strategy, names), fmt::join(names, ", "))};
}

}  // namespace

std::expected<SimulationResult, Problems> simulate(const Scenario& scenario,
                                                   std::string_view strategy, std::uint64_t seed) {
  if (auto unknown = unknown_strategy(strategy)) return std::unexpected(Problems{*unknown});
  std::optional<Settings> settings;
  if (strategy != kOracleName) {
    auto read = simulated_settings(scenario, strategy);
    if (!read) return std::unexpected(std::move(read.error()));
    settings = *std::move(read);
  }
  auto result = Run(scenario, seed).play(settings ? &*settings : nullptr);
  result.scenario = scenario.name;
  result.strategy = strategy;
  return result;
}

std::expected<std::vector<SimulationResult>, Problems> compare(
    const Scenario& scenario, std::span<const std::string> strategies, std::uint64_t seed) {
  std::vector<SimulationResult> results;
  for (const auto& strategy : strategies) {
    if (strategy == kOracleName) continue;
    auto result = simulate(scenario, strategy, seed);
    if (!result) return std::unexpected(std::move(result.error()));
    results.push_back(*std::move(result));
  }
  if (scenario.replay) {
    results.push_back(recorded_result(scenario));
    return results;
  }
  auto oracle = simulate(scenario, kOracleName, seed);
  if (!oracle) return std::unexpected(std::move(oracle.error()));
  results.push_back(*std::move(oracle));
  const auto best = static_cast<double>(results.back().latency.p99.count());
  for (auto& result : results)
    if (best > 0) result.regret = static_cast<double>(result.latency.p99.count()) / best;
  return results;
}

}  // namespace karmad
