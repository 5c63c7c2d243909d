#pragma once

#include <cstddef>
#include <string>

#include "balancer/simulate/simulation_result.hpp"

namespace karmad {

/// Most strategies with a line in a chart; more cannot be told apart. The table has all.
inline constexpr std::size_t kMostChartLines = 12;
/// Most strategies with a chart of their traffic.
inline constexpr std::size_t kMostTrafficCharts = 24;
/// Most mirrors with a band. Of more mirrors the changed ones have bands, or the first ones.
inline constexpr std::size_t kMostBands = 8;
/// Most points of a line: about one per two pixels. Intervals between them are joined.
inline constexpr std::size_t kMostChartPoints = 200;

/// Classes of the style sheet for the line of the strategy at that position: its colour and its
/// dashes, so that lines differ without colours too. html_report.js has the same rule.
std::string line_classes(std::size_t strategy, bool reference);

/// The charts of a scenario as figures of HTML: p99 and errors of all strategies over time, and for
/// each strategy the share of each mirror in the attempts. Empty if no result has intervals. What
/// the canvases show is appended to `data`, a JSON array without its brackets: for each canvas an
/// object, in their order.
std::string scenario_charts(const ScenarioReport& scenario, std::string& data);

}  // namespace karmad
