#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "balancer/simulate/simulation_result.hpp"

namespace karmad {

/// One scenario with all strategies that were simulated.
struct ScenarioReport {
  std::string name;
  std::string description;
  std::vector<SimulationResult>
      results;  ///< one per strategy; the oracle or the recorded one, if any, last
  std::vector<SimulatedChange> changes;
  std::vector<std::string> mirrors;  ///< names, in the order of SimulatedInterval::mirrors
};

struct HtmlReport {
  std::string title;
  std::string description;  ///< such as the command, the seed and the version
  std::vector<ScenarioReport> scenarios;
};

/// Name of the strategy that knows the true state of all mirrors.
inline constexpr std::string_view kOracleName = "oracle";

/// In place of a strategy: what an access log tells.
inline constexpr std::string_view kRecordedName = "recorded";

/// Not a strategy, but what strategies are compared with.
inline bool is_reference(std::string_view strategy) {
  return strategy == kOracleName || strategy == kRecordedName;
}

}  // namespace karmad
