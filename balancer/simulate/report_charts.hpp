#pragma once

#include <cstddef>
#include <string>

#include "balancer/simulate/scenario_report.hpp"

namespace karmad {

/// Most strategies with a line in a chart; more cannot be told apart. The table has all.
inline constexpr std::size_t kMostChartLines = 12;
/// Most strategies with a chart of their traffic.
inline constexpr std::size_t kMostTrafficCharts = 24;
/// Most mirrors with a band. Of more mirrors the changed ones have bands, or the first ones.
inline constexpr std::size_t kMostBands = 8;
/// Most points of a line: about one per unit of the chart. Intervals between them are joined.
inline constexpr std::size_t kMostChartPoints = 200;

/// The charts of a scenario as figures of HTML: p99 and errors of all strategies over time, and for
/// each strategy the share of each mirror in the attempts. Empty if no result has intervals.
std::string scenario_charts(const ScenarioReport& scenario);

}  // namespace karmad
