#pragma once

#include <string>
#include <vector>

#include "balancer/simulate/scenario/scenario.hpp"
#include "balancer/simulate/simulation_result.hpp"

namespace karmad {

/// A scenario and its results, one for each strategy; the last one is that of
/// the oracle, or of the access log.
struct SimulationReport {
  Scenario scenario;
  std::vector<SimulationResult> results;
};

/// For people: a heading and an aligned table, times in ms.
std::string simulation_table(const SimulationReport& report, std::uint64_t seed);
/// Everything, intervals included, in one line; times in ms.
std::string simulation_json(const std::vector<SimulationReport>& reports, std::uint64_t seed);
/// A line with names, and one for each result; times in ms.
std::string simulation_csv(const std::vector<SimulationReport>& reports);

}  // namespace karmad
