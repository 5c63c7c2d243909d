#include "balancer/simulate/report_charts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "balancer/simulate/html_text.hpp"
#include "balancer/simulate/svg_charts.hpp"

namespace karmad {
namespace {

constexpr double kLineChartHeight = 236;
constexpr double kTrafficChartHeight = 150;
constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();

double chart_seconds(Micros time) {
  return static_cast<double>(time.count()) / 1e6;
}

/// Consecutive intervals that share a point of a chart.
struct ChartPoint {
  double from = 0;  ///< s
  std::uint64_t requests = 0;
  std::uint64_t errors = 0;
  Micros p99{};                         ///< the highest of them
  std::vector<std::uint64_t> attempts;  ///< of each mirror
};

std::vector<ChartPoint> points_of(const SimulationResult& result) {
  const auto joined = (result.intervals.size() + kMostChartPoints - 1) / kMostChartPoints;
  std::vector<ChartPoint> points;
  for (std::size_t i = 0; i < result.intervals.size(); ++i) {
    const auto& interval = result.intervals[i];
    if (i % joined == 0) points.push_back({.from = chart_seconds(interval.from)});
    auto& point = points.back();
    point.requests += interval.requests;
    point.errors += interval.errors;
    point.p99 = std::max(point.p99, interval.latency.p99);
    point.attempts.resize(std::max(point.attempts.size(), interval.mirrors.size()));
    for (std::size_t m = 0; m < interval.mirrors.size(); ++m)
      point.attempts[m] += interval.mirrors[m].attempts;
  }
  return points;
}

double end_second(const SimulationResult& result) {
  return result.intervals.empty() ? 0
                                  : chart_seconds(result.intervals.back().from + result.interval);
}

std::vector<ChartMark> chart_marks_of(const ScenarioReport& scenario) {
  std::vector<ChartMark> marks;
  for (const auto& change : scenario.changes)
    marks.push_back({chart_seconds(change.at), marks.size() + 1, change.text});
  return marks;
}

/// Positions of the results with a line: the first ones, and the last.
std::vector<std::size_t> charted_results(const ScenarioReport& scenario, std::size_t most) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < scenario.results.size(); ++i) {
    const bool has_room = places.size() + 1 < most || i + 1 == scenario.results.size();
    if (has_room && !scenario.results[i].intervals.empty()) places.push_back(i);
  }
  return places;
}

/// A chart over the whole scenario; `value_of` a point. Its times are the middles of the first
/// result's points: all results of a scenario have the same intervals.
std::string chart_of_all(const ScenarioReport& scenario, LineChart chart,
                         double (*value_of)(const ChartPoint&)) {
  std::vector<double> times;
  for (const auto place : charted_results(scenario, kMostChartLines)) {
    const auto& result = scenario.results[place];
    const auto points = points_of(result);
    chart.frame.seconds = std::max(chart.frame.seconds, end_second(result));
    ChartLine line{.name = result.strategy,
                   .style = line_style(place, is_reference(result.strategy))};
    for (const auto& point : points) line.values.push_back(value_of(point));
    if (points.size() > times.size()) {
      times.clear();
      const auto width = points.size() > 1 ? points[1].from - points[0].from : end_second(result);
      for (const auto& point : points) times.push_back(point.from + width / 2);
    }
    chart.lines.push_back(std::move(line));
  }
  chart.times = times;
  return line_chart(chart);
}

std::string chart_figure(std::string_view caption, std::string_view chart,
                         std::string_view classes) {
  return chart.empty() ? std::string()
                       : fmt::format(
                             "<figure class=\"{}\"><figcaption>{}</figcaption>\n{}"
                             "</figure>\n",
                             classes, html_escaped(caption), chart);
}

std::string millis_text(double ms) {
  if (ms < 1) return round_number(ms * 1000) + " us";
  return ms < 1000 ? round_number(ms) + " ms" : round_number(ms / 1000) + " s";
}

std::string percent_of_requests(double percent) {
  return round_number(percent) + " %";
}

std::string p99_chart(const ScenarioReport& scenario, const std::vector<ChartMark>& marks) {
  LineChart chart;
  chart.frame = {.height = kLineChartHeight,
                 .title = scenario.name + ": p99 of each strategy over time",
                 .description =
                     "Logarithmic scale. The table above has the values of the whole "
                     "simulation.",
                 .marks = marks,
                 .marks_have_text = true};
  chart.logarithmic = true;
  chart.text_of = millis_text;
  return chart_figure("p99 of answered requests, logarithmic",
                      chart_of_all(scenario, std::move(chart),
                                   [](const ChartPoint& point) {
                                     return static_cast<double>(point.p99.count()) / 1000;
                                   }),
                      "large");
}

std::string error_chart(const ScenarioReport& scenario, const std::vector<ChartMark>& marks) {
  const auto errors = std::transform_reduce(
      scenario.results.begin(), scenario.results.end(), std::uint64_t{0}, std::plus<>(),
      [](const SimulationResult& result) { return result.errors; });
  if (errors == 0) return "<p class=\"none\">No request failed with any strategy.</p>\n";
  LineChart chart;
  chart.frame = {.height = kLineChartHeight,
                 .title = scenario.name + ": failed requests of each strategy over time",
                 .description = "Per cent of the requests that arrived in an interval.",
                 .marks = marks,
                 .marks_have_text = true};
  chart.text_of = percent_of_requests;
  return chart_figure("Failed requests, per cent",
                      chart_of_all(scenario, std::move(chart),
                                   [](const ChartPoint& point) {
                                     return point.requests == 0
                                                ? kNoValue
                                                : 100.0 * static_cast<double>(point.errors) /
                                                      static_cast<double>(point.requests);
                                   }),
                      "large");
}

bool is_changed_mirror(const ScenarioReport& scenario, std::string_view mirror) {
  constexpr std::string_view kSeparators = " ,;:=";
  return std::ranges::any_of(scenario.changes, [&](const SimulatedChange& change) {
    std::string_view text = change.text;
    while (!text.empty()) {
      const auto word = text.substr(0, text.find_first_of(kSeparators));
      if (!word.empty() && word == mirror) return true;
      text.remove_prefix(std::min(text.size(), word.size() + 1));
    }
    return false;
  });
}

std::string mirror_name(const ScenarioReport& scenario, std::size_t mirror) {
  return mirror < scenario.mirrors.size() ? scenario.mirrors[mirror]
                                          : fmt::format("mirror {}", mirror + 1);
}

struct ChartedMirrors {
  std::vector<std::size_t> places;  ///< those that change first: they stand at the axis
  std::size_t changed = 0;          ///< of them
  std::size_t all = 0;              ///< mirrors, with those that are not in the charts
};

ChartedMirrors charted_mirrors(const ScenarioReport& scenario) {
  ChartedMirrors charted;
  for (const auto& result : scenario.results)
    for (const auto& interval : result.intervals)
      charted.all = std::max(charted.all, interval.mirrors.size());
  auto& places = charted.places;
  places.resize(charted.all);
  std::iota(places.begin(), places.end(), std::size_t{0});
  const auto unchanged = std::stable_partition(places.begin(), places.end(), [&](std::size_t m) {
    return is_changed_mirror(scenario, mirror_name(scenario, m));
  });
  charted.changed = static_cast<std::size_t>(unchanged - places.begin());
  if (charted.all > kMostBands) {
    places.resize(charted.changed > 0 ? std::min(charted.changed, kMostBands) : kMostBands);
    charted.changed = std::min(charted.changed, places.size());
  }
  return charted;
}

std::vector<double> mirror_shares(const std::vector<ChartPoint>& points, std::size_t mirror) {
  std::vector<double> shares;
  for (const auto& point : points) {
    const auto all =
        std::accumulate(point.attempts.begin(), point.attempts.end(), std::uint64_t{0});
    const auto own = mirror < point.attempts.size() ? point.attempts[mirror] : 0;
    shares.push_back(all == 0 ? 0 : static_cast<double>(own) / static_cast<double>(all));
  }
  return shares;
}

struct TrafficChart {
  std::string strategy;
  std::vector<double> starts;
  BandChart chart;
};

TrafficChart traffic_chart(const ScenarioReport& scenario, const SimulationResult& result,
                           const ChartedMirrors& mirrors, std::span<const ChartMark> marks) {
  const auto points = points_of(result);
  TrafficChart made{.strategy = result.strategy, .starts = {}, .chart = {}};
  for (const auto& point : points) made.starts.push_back(point.from);
  made.chart.frame = {.height = kTrafficChartHeight,
                      .seconds = end_second(result),
                      .title = fmt::format("{}, {}: share of each mirror in the attempts over time",
                                           scenario.name, result.strategy),
                      .description =
                          "Bands on each other; the mirrors that the scenario changes "
                          "are the lowest.",
                      .marks = marks};
  for (std::size_t i = 0; i < mirrors.places.size(); ++i)
    made.chart.bands.push_back({.name = mirror_name(scenario, mirrors.places[i]),
                                .emphasized = i < mirrors.changed,
                                .values = mirror_shares(points, mirrors.places[i])});
  return made;
}

/// The highest sum of all bands.
double highest_sum(const BandChart& chart, std::size_t points) {
  double highest = 0;
  for (std::size_t i = 0; i < points; ++i) {
    double sum = 0;
    for (const auto& band : chart.bands) sum += band.values[i];
    highest = std::max(highest, sum);
  }
  return highest;
}

std::string traffic_charts(const ScenarioReport& scenario, const std::vector<ChartMark>& marks) {
  const auto mirrors = charted_mirrors(scenario);
  const bool has_all = mirrors.places.size() == mirrors.all;
  std::vector<TrafficChart> charts;
  double most = 0;
  for (const auto place : charted_results(scenario, kMostTrafficCharts)) {
    charts.push_back(traffic_chart(scenario, scenario.results[place], mirrors, marks));
    most = std::max(most, highest_sum(charts.back().chart, charts.back().starts.size()));
  }
  std::string figures;
  for (auto& one : charts) {
    one.chart.starts = one.starts;
    one.chart.most = has_all || most == 0 ? 1 : most;
    figures += chart_figure(one.strategy, band_chart(one.chart), "small");
  }
  if (figures.empty()) return {};
  const auto left_out =
      has_all ? std::string()
              : fmt::format("<p class=\"none\">The charts show {} of {} mirrors: {}.</p>\n",
                            mirrors.places.size(), mirrors.all,
                            mirrors.changed > 0 ? "those that change" : "the first ones");
  return fmt::format(
      "<h3>Share of each mirror in the attempts</h3>\n{}<div class=\"multiples\">\n{}</div>\n",
      left_out, figures);
}

}  // namespace

std::string scenario_charts(const ScenarioReport& scenario) {
  const auto marks = chart_marks_of(scenario);
  const auto p99 = p99_chart(scenario, marks);
  if (charted_results(scenario, kMostChartLines).empty()) return {};
  std::string left_out;
  if (scenario.results.size() > kMostChartLines)
    left_out = fmt::format(
        "<p class=\"none\">The charts of all strategies show the first {}, and "
        "the last.</p>\n",
        kMostChartLines - 1);
  return fmt::format("{}<div class=\"charts\">\n{}{}</div>\n{}", left_out, p99,
                     error_chart(scenario, marks), traffic_charts(scenario, marks));
}

}  // namespace karmad
