#pragma once

#include <optional>
#include <string>

#include "balancer/simulate/scenario_report.hpp"

namespace karmad {

/// The table of all strategies of a scenario; the best value of each column that has one is marked.
std::string strategy_table(const ScenarioReport& scenario);

/// The position of the strategy with the lowest p99, the oracle excluded; empty if none answered.
std::optional<std::size_t> lowest_p99(const ScenarioReport& scenario);

/// p99 of each strategy in each scenario: for reports with several.
std::string overview_table(const HtmlReport& report);

/// The id of a scenario's section.
std::string scenario_id(std::size_t scenario);

/// The meaning of the columns, as a list of terms.
std::string column_help();

}  // namespace karmad
