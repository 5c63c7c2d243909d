#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "balancer/simulate/simulation_result.hpp"
#include "strategies/time.hpp"

namespace karmad::simulate {

/// The report as one page of HTML that needs no other file: a table of all strategies and charts
/// for each scenario, which Chart.js draws. The same input yields the same bytes.
std::string html_report(const HtmlReport& report);

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

/// Any text as content or quoted attribute of HTML and XML. Control characters, which XML does not
/// allow, and bytes that are not UTF-8 become U+FFFD.
std::string html_escaped(std::string_view text);

/// A count with a narrow space between groups of three digits.
std::string count_text(std::uint64_t count);

/// A time with its unit and three significant digits: `340 us`, `12.3 ms`, `1.20 s`, `180 s`.
std::string duration_text(Micros time);

/// At most three significant digits, none after the point from 100 on: `0.25`, `12.3`, `180`.
std::string short_number(double value);

/// At most four significant digits, without zeros at the end: for round numbers.
std::string round_number(double value);

}  // namespace karmad::simulate
