#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "balancer/simulate/engine/simulation.hpp"

namespace karmad::simulate {

/// The report as one page of HTML that needs no other file: a table of all strategies and charts
/// for each scenario, which Chart.js draws. The same input yields the same bytes.
std::string html_report(std::span<const Report> reports, std::uint64_t seed);

/// Most strategies with a line in a chart; more cannot be told apart. The table has all.
inline constexpr std::size_t kMostChartLines = 12;
/// Most strategies with a chart of their traffic.
inline constexpr std::size_t kMostTrafficCharts = 24;
/// Most mirrors with a band. Of more mirrors the changed ones have bands, or the first ones.
inline constexpr std::size_t kMostBands = 8;
/// Most points of a line: about one per two pixels. Intervals between them are joined.
inline constexpr std::size_t kMostChartPoints = 200;

}  // namespace karmad::simulate
