#include "balancer/simulate/report_charts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <vector>

#include "agent/json/json_text.hpp"
#include "agent/stats/document.hpp"

namespace karmad {

namespace {

constexpr std::size_t kLineColours = 8;  // c0 to c7 of the style sheet
constexpr std::size_t kLineDashes = 3;   // d0 to d2

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

/// Positions of the results with a line: the first ones, and the last.
std::vector<std::size_t> charted_results(const ScenarioReport& scenario, std::size_t most) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < scenario.results.size(); ++i) {
    const bool has_room = places.size() + 1 < most || i + 1 == scenario.results.size();
    if (has_room && !scenario.results[i].intervals.empty()) places.push_back(i);
  }
  return places;
}

/// An array of numbers in few digits; an empty one is null.
template <class Values, class ValueOf>
void add_values(Document& out, std::string_view key, const Values& values, ValueOf value_of) {
  out.array(key, values, [&](const auto& value) {
    const std::optional<double> number = value_of(value);
    out.raw(number ? round_number(*number) : "null");
  });
}

/// Appends the object of a chart to an array without brackets. `add_lines` adds its own members;
/// the others are those that all charts of the scenario have.
template <class AddLines>
void add_chart(std::string& data, std::string_view kind, const ScenarioReport& scenario,
               const SimulationResult& result, AddLines add_lines) {
  if (!data.empty()) data += ",\n";
  Document out(data);
  out.object([&] {
    out.text("kind", kind);
    out.value("seconds", end_second(result));
    add_values(out, "marks", scenario.changes,
               [](const SimulatedChange& change) { return chart_seconds(change.at); });
    add_values(out, "times", points_of(result), [](const ChartPoint& point) { return point.from; });
    add_lines(out);
  });
}

std::string chart_figure(std::string_view caption, std::string_view label,
                         std::string_view classes) {
  return fmt::format(
      "<figure class=\"{}\"><figcaption>{}</figcaption><div class=\"plot\"><canvas role=\"img\" "
      "aria-label=\"{}\"></canvas></div></figure>\n",
      classes, html_escaped(caption), html_escaped(label));
}

/// A chart over the whole scenario with a line for each strategy; `value_of` a point.
template <class ValueOf>
void chart_of_all(std::string& data, std::string_view kind, const ScenarioReport& scenario,
                  ValueOf value_of) {
  const auto places = charted_results(scenario, kMostChartLines);
  // All results of a scenario have the same intervals, but one may end early.
  const auto longest = std::ranges::max(
      places, {}, [&](auto place) { return scenario.results[place].intervals.size(); });
  add_chart(data, kind, scenario, scenario.results[longest], [&](Document& out) {
    out.array("lines", places, [&](std::size_t place) {
      const auto& result = scenario.results[place];
      out.object([&] {
        out.text("name", result.strategy);
        out.value("place", is_reference(result.strategy) ? -1 : static_cast<std::int64_t>(place));
        add_values(out, "values", points_of(result), value_of);
      });
    });
  });
}

std::optional<double> p99_millis(const ChartPoint& point) {
  if (point.p99 <= Micros{0}) return std::nullopt;  // the scale is logarithmic
  return static_cast<double>(point.p99.count()) / 1000;
}

std::optional<double> failed_percent(const ChartPoint& point) {
  if (point.requests == 0) return std::nullopt;
  return 100.0 * static_cast<double>(point.errors) / static_cast<double>(point.requests);
}

std::string error_chart(const ScenarioReport& scenario, std::string& data) {
  if (std::ranges::all_of(scenario.results, [](const auto& result) { return result.errors == 0; }))
    return "<p class=\"none\">No request failed with any strategy.</p>\n";
  chart_of_all(data, "errors", scenario, failed_percent);
  return chart_figure("Failed requests, per cent",
                      scenario.name +
                          ": failed requests of each strategy over time, in per cent of the "
                          "requests that arrived in an interval.",
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

double mirror_share(const ChartPoint& point, std::size_t mirror) {
  const auto all = std::accumulate(point.attempts.begin(), point.attempts.end(), std::uint64_t{0});
  if (all == 0 || mirror >= point.attempts.size()) return 0;
  return static_cast<double>(point.attempts[mirror]) / static_cast<double>(all);
}

/// Highest sum of the bands in any chart, in per cent: one scale lets charts be compared.
double highest_band(const ScenarioReport& scenario, const ChartedMirrors& mirrors) {
  double highest = 0;
  for (const auto place : charted_results(scenario, kMostTrafficCharts))
    for (const auto& point : points_of(scenario.results[place])) {
      double sum = 0;
      for (const auto mirror : mirrors.places) sum += mirror_share(point, mirror);
      highest = std::max(highest, 100 * sum);
    }
  return mirrors.places.size() == mirrors.all || highest == 0 ? 100 : highest;
}

void traffic_chart(std::string& data, const ScenarioReport& scenario,
                   const SimulationResult& result, const ChartedMirrors& mirrors, double most) {
  add_chart(data, "shares", scenario, result, [&](Document& out) {
    const auto points = points_of(result);
    std::size_t changed = mirrors.changed;
    out.array("lines", mirrors.places, [&](std::size_t mirror) {
      out.object([&] {
        out.text("name", mirror_name(scenario, mirror));
        out.value("changes", changed > 0);
        add_values(out, "values", points,
                   [&](const ChartPoint& point) { return 100 * mirror_share(point, mirror); });
      });
      if (changed > 0) --changed;
    });
    out.raw("most", round_number(most));
  });
}

std::string traffic_charts(const ScenarioReport& scenario, std::string& data) {
  const auto mirrors = charted_mirrors(scenario);
  if (mirrors.places.empty()) return {};
  const auto most = highest_band(scenario, mirrors);
  std::string figures;
  for (const auto place : charted_results(scenario, kMostTrafficCharts)) {
    const auto& result = scenario.results[place];
    traffic_chart(data, scenario, result, mirrors, most);
    figures += chart_figure(
        result.strategy,
        fmt::format("{}, {}: share of each mirror in the attempts over time, as bands on each "
                    "other; the mirrors that the scenario changes are the lowest.",
                    scenario.name, result.strategy),
        "small");
  }
  const auto left_out =
      mirrors.places.size() == mirrors.all
          ? std::string()
          : fmt::format("<p class=\"none\">The charts show {} of {} mirrors: {}.</p>\n",
                        mirrors.places.size(), mirrors.all,
                        mirrors.changed > 0 ? "those that change" : "the first ones");
  return fmt::format(
      "<h3>Share of each mirror in the attempts</h3>\n{}<div class=\"multiples\">\n{}</div>\n",
      left_out, figures);
}

}  // namespace

std::string line_classes(std::size_t strategy, bool reference) {
  if (reference) return "reference-line";
  return fmt::format("c{} d{}", strategy % kLineColours, strategy % kLineDashes);
}

std::string scenario_charts(const ScenarioReport& scenario, std::string& data) {
  if (charted_results(scenario, kMostChartLines).empty()) return {};
  std::string left_out;
  if (scenario.results.size() > kMostChartLines)
    left_out = fmt::format(
        "<p class=\"none\">The charts of all strategies show the first {}, and "
        "the last.</p>\n",
        kMostChartLines - 1);
  chart_of_all(data, "p99", scenario, p99_millis);
  const auto p99 = chart_figure("p99 of answered requests, logarithmic",
                                scenario.name +
                                    ": p99 of each strategy over time on a logarithmic scale. The "
                                    "table above has the values of the whole simulation.",
                                "large");
  const auto errors = error_chart(scenario, data);
  return fmt::format("{}<div class=\"charts\">\n{}{}</div>\n{}", left_out, p99, errors,
                     traffic_charts(scenario, data));
}

namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
constexpr std::string_view kNarrowSpace = "\xE2\x80\xAF";

std::string_view html_of(char c, std::string_view as_it_is) {
  switch (c) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    case '\t':
    case '\n':
      return " ";
    default:
      return static_cast<unsigned char>(c) < ' ' || c == 0x7f ? kReplacement : as_it_is;
  }
}

}  // namespace

std::string html_escaped(std::string_view text) {
  const auto clean = clean_utf8(text);
  std::string out;
  out.reserve(clean.size());
  for (const char& c : clean) out += html_of(c, {&c, 1});
  return out;
}

std::string count_text(std::uint64_t count) {
  const auto digits = fmt::format("{}", count);
  std::string out;
  for (std::size_t at = 0; at < digits.size(); ++at) {
    if (at > 0 && (digits.size() - at) % 3 == 0) out += kNarrowSpace;
    out += digits[at];
  }
  return out;
}

std::string short_number(double value) {
  const auto size = std::abs(value);
  if (size == 0) return "0";
  if (size < 0.9995) return fmt::format("{:.3g}", value);
  return fmt::format("{:.{}f}", value, size < 9.995 ? 2 : size < 99.95 ? 1 : 0);
}

std::string round_number(double value) {
  const bool large = std::abs(value) >= 9999.5;
  return large ? fmt::format("{:.0f}", value) : fmt::format("{:.4g}", value);
}

std::string duration_text(Micros time) {
  const auto us = static_cast<double>(time.count());
  if (us < 1000) return fmt::format("{} us", time.count());
  if (us < 999'500) return short_number(us / 1e3) + " ms";
  return short_number(us / 1e6) + " s";
}

}  // namespace karmad
