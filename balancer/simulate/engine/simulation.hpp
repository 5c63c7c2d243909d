#pragma once

#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "balancer/simulate/scenario/scenario.hpp"
#include "balancer/simulate/world/recorder.hpp"

namespace karmad::simulate {

/// Name of the strategy that knows the true state of all mirrors.
inline constexpr std::string_view kOracleName = "oracle";

/// In place of a strategy: what an access log tells.
inline constexpr std::string_view kRecordedName = "recorded";

/// Not a strategy, but what strategies are compared with.
inline bool is_reference(std::string_view strategy) {
  return strategy == kOracleName || strategy == kRecordedName;
}

/// Simulates a scenario with one strategy, or with kOracleName. The same arguments give the same
/// result, on one version of the program and its libraries. Fails if the strategy is unknown or a
/// setting is wrong.
std::expected<Result, Problems> run(const Scenario& scenario, std::string_view strategy,
                                    std::uint64_t seed);

/// Simulates a scenario with each strategy, and then with the oracle; fills in the regret. If the
/// scenario replays an access log, the last result is recorded_result() instead.
std::expected<std::vector<Result>, Problems> compare(const Scenario& scenario,
                                                     std::span<const std::string> strategies,
                                                     std::uint64_t seed);

/// A scenario and its results, one for each strategy; the last one is that of
/// the oracle, or of the access log.
struct Report {
  Scenario scenario;
  std::vector<Result> results;
};

/// For people: a heading and an aligned table, times in ms.
std::string report_table(const Report& report, std::uint64_t seed);
/// Everything, intervals included, in one line; times in ms.
std::string report_json(const std::vector<Report>& reports, std::uint64_t seed);
/// A line with names, and one for each result; times in ms.
std::string report_csv(const std::vector<Report>& reports);

}  // namespace karmad::simulate
