#include "balancer/simulate/engine/html_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "agent/json/json_text.hpp"
#include "agent/stats/document.hpp"
#include "html_report_parts.hpp"

// Chart.js, in the assembler file that balancer/dashboard/embed.cmake makes.
extern "C" {
extern const char karmad_chart_js;      // NOLINT(readability-identifier-naming): a symbol
extern const char karmad_chart_js_end;  // NOLINT(readability-identifier-naming)
}

namespace karmad::simulate {

namespace {

double seconds_of(Micros time) {
  return static_cast<double>(time.count()) / 1e6;
}

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
constexpr std::string_view kNarrowSpace = "\xE2\x80\xAF";

constexpr std::array<std::pair<char, std::string_view>, 7> kHtmlTexts{{{'&', "&amp;"},
                                                                       {'<', "&lt;"},
                                                                       {'>', "&gt;"},
                                                                       {'"', "&quot;"},
                                                                       {'\'', "&#39;"},
                                                                       {'\t', " "},
                                                                       {'\n', " "}}};

std::string_view html_of(const char& c) {
  for (const auto& [known, text] : kHtmlTexts)
    if (known == c) return text;
  return static_cast<unsigned char>(c) < ' ' || c == 0x7f ? kReplacement : std::string_view(&c, 1);
}

/// Any text as content or quoted attribute of HTML and XML. Control characters, which XML does not
/// allow, and bytes that are not UTF-8 become U+FFFD.
std::string html_escaped(std::string_view text) {
  const auto clean = clean_utf8(text);
  std::string out;
  out.reserve(clean.size());
  for (const char& c : clean) out += html_of(c);
  return out;
}

/// A count with a narrow space between groups of three digits.
std::string count_text(std::uint64_t count) {
  const auto digits = fmt::format("{}", count);
  std::string out;
  for (std::size_t at = 0; at < digits.size(); ++at) {
    if (at > 0 && (digits.size() - at) % 3 == 0) out += kNarrowSpace;
    out += digits[at];
  }
  return out;
}

/// At most three significant digits, none after the point from 100 on: `0.25`, `12.3`, `180`.
std::string short_number(double value) {
  const auto size = std::abs(value);
  if (size == 0) return "0";
  if (size < 0.9995) return fmt::format("{:.3g}", value);
  return fmt::format("{:.{}f}", value, size < 9.995 ? 2 : size < 99.95 ? 1 : 0);
}

/// At most four significant digits, without zeros at the end: for round numbers.
std::string round_number(double value) {
  const bool large = std::abs(value) >= 9999.5;
  return large ? fmt::format("{:.0f}", value) : fmt::format("{:.4g}", value);
}

/// A time with its unit and three significant digits: `340 us`, `12.3 ms`, `1.20 s`, `180 s`.
std::string duration_text(Micros time) {
  const auto us = static_cast<double>(time.count());
  if (us < 1000) return fmt::format("{} us", time.count());
  if (us < 999'500) return short_number(us / 1e3) + " ms";
  return short_number(us / 1e6) + " s";
}

/// Consecutive intervals that share a point of a chart.
struct ChartPoint {
  double from = 0;  ///< s
  std::uint64_t requests = 0;
  std::uint64_t errors = 0;
  Micros p99{};                         ///< the highest of them
  std::vector<std::uint64_t> attempts;  ///< of each mirror
};

std::vector<ChartPoint> points_of(const Result& result) {
  const auto joined = (result.intervals.size() + kMostChartPoints - 1) / kMostChartPoints;
  std::vector<ChartPoint> points;
  for (std::size_t i = 0; i < result.intervals.size(); ++i) {
    const auto& interval = result.intervals[i];
    if (i % joined == 0) points.push_back({.from = seconds_of(interval.from)});
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

/// Positions of the results with a line: the first ones, and the last.
std::vector<std::size_t> charted_results(const Report& report, std::size_t most) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < report.results.size(); ++i) {
    const bool has_room = places.size() + 1 < most || i + 1 == report.results.size();
    if (has_room && !report.results[i].intervals.empty()) places.push_back(i);
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
void add_chart(std::string& data, std::string_view kind, const Report& report, const Result& result,
               AddLines add_lines) {
  if (!data.empty()) data += ",\n";
  Document out(data);
  out.object([&] {
    out.text("kind", kind);
    const auto& all = result.intervals;
    out.value("seconds", all.empty() ? 0 : seconds_of(all.back().from + result.interval));
    add_values(out, "marks", reported_changes(report.scenario),
               [](const ReportedChange& change) { return seconds_of(change.at); });
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
void chart_of_all(std::string& data, std::string_view kind, const Report& report,
                  ValueOf value_of) {
  const auto places = charted_results(report, kMostChartLines);
  // All results of a scenario have the same intervals, but one may end early.
  const auto longest = std::ranges::max(
      places, {}, [&](auto place) { return report.results[place].intervals.size(); });
  add_chart(data, kind, report, report.results[longest], [&](Document& out) {
    out.array("lines", places, [&](std::size_t place) {
      const auto& result = report.results[place];
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

std::string error_chart(const Report& report, std::string& data) {
  if (std::ranges::all_of(report.results, [](const auto& result) { return result.errors == 0; }))
    return "<p class=\"none\">No request failed with any strategy.</p>\n";
  chart_of_all(data, "errors", report, failed_percent);
  return chart_figure("Failed requests, per cent",
                      report.scenario.name +
                          ": failed requests of each strategy over time, in per cent of the "
                          "requests that arrived in an interval.",
                      "large");
}

bool is_changed_mirror(std::span<const ReportedChange> changes, std::string_view mirror) {
  constexpr std::string_view kSeparators = " ,;:=";
  return std::ranges::any_of(changes, [&](const ReportedChange& change) {
    std::string_view text = change.text;
    while (!text.empty()) {
      const auto word = text.substr(0, text.find_first_of(kSeparators));
      if (!word.empty() && word == mirror) return true;
      text.remove_prefix(std::min(text.size(), word.size() + 1));
    }
    return false;
  });
}

struct ChartedMirrors {
  std::vector<std::size_t> places;  ///< those that change first: they stand at the axis
  std::size_t changed = 0;          ///< of them
  std::size_t all = 0;              ///< mirrors, with those that are not in the charts
};

ChartedMirrors charted_mirrors(const Report& report) {
  ChartedMirrors charted;
  for (const auto& result : report.results)
    for (const auto& interval : result.intervals)
      charted.all = std::max(charted.all, interval.mirrors.size());
  auto& places = charted.places;
  places.resize(charted.all);
  std::iota(places.begin(), places.end(), std::size_t{0});
  const auto changes = reported_changes(report.scenario);
  const auto unchanged = std::ranges::stable_partition(places, [&](std::size_t mirror) {
    return is_changed_mirror(changes, mirror_name(report.scenario, mirror));
  });
  charted.changed = places.size() - unchanged.size();
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
double highest_band(const Report& report, const ChartedMirrors& mirrors) {
  double highest = 0;
  for (const auto place : charted_results(report, kMostTrafficCharts))
    for (const auto& point : points_of(report.results[place])) {
      double sum = 0;
      for (const auto mirror : mirrors.places) sum += mirror_share(point, mirror);
      highest = std::max(highest, 100 * sum);
    }
  return mirrors.places.size() == mirrors.all || highest == 0 ? 100 : highest;
}

void traffic_chart(std::string& data, const Report& report, const Result& result,
                   const ChartedMirrors& mirrors, double most) {
  add_chart(data, "shares", report, result, [&](Document& out) {
    const auto points = points_of(result);
    std::size_t changed = mirrors.changed;
    out.array("lines", mirrors.places, [&](std::size_t mirror) {
      out.object([&] {
        out.text("name", mirror_name(report.scenario, mirror));
        out.value("changes", changed > 0);
        add_values(out, "values", points,
                   [&](const ChartPoint& point) { return 100 * mirror_share(point, mirror); });
      });
      if (changed > 0) --changed;
    });
    out.raw("most", round_number(most));
  });
}

std::string traffic_charts(const Report& report, std::string& data) {
  const auto mirrors = charted_mirrors(report);
  if (mirrors.places.empty()) return {};
  const auto most = highest_band(report, mirrors);
  std::string figures;
  for (const auto place : charted_results(report, kMostTrafficCharts)) {
    const auto& result = report.results[place];
    traffic_chart(data, report, result, mirrors, most);
    figures += chart_figure(
        result.strategy,
        fmt::format("{}, {}: share of each mirror in the attempts over time, as bands on each "
                    "other; the mirrors that the scenario changes are the lowest.",
                    report.scenario.name, result.strategy),
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

/// The charts of a scenario as figures of HTML: p99 and errors of all strategies over time, and for
/// each strategy the share of each mirror in the attempts. Empty if no result has intervals. What
/// the canvases show is appended to `data`, a JSON array without its brackets: for each canvas an
/// object, in their order.
std::string scenario_charts(const Report& report, std::string& data) {
  if (charted_results(report, kMostChartLines).empty()) return {};
  std::string left_out;
  if (report.results.size() > kMostChartLines)
    left_out = fmt::format(
        "<p class=\"none\">The charts of all strategies show the first {}, and "
        "the last.</p>\n",
        kMostChartLines - 1);
  chart_of_all(data, "p99", report, p99_millis);
  const auto p99 = chart_figure("p99 of answered requests, logarithmic",
                                report.scenario.name +
                                    ": p99 of each strategy over time on a logarithmic scale. The "
                                    "table above has the values of the whole simulation.",
                                "large");
  const auto errors = error_chart(report, data);
  return fmt::format("{}<div class=\"charts\">\n{}{}</div>\n{}", left_out, p99, errors,
                     traffic_charts(report, data));
}

enum class BestValue : std::uint8_t { none, least, most };

/// A value of a table; `number` is what the best is chosen by.
struct TableValue {
  std::string text;
  std::optional<double> number;
};

struct TableColumn {
  std::string_view title;
  std::string_view help;
  BestValue best;
  TableValue (*value)(const Result& result, bool has_changes);
};

TableValue decimal_value(double number) {
  return {short_number(number), number};
}

template <Micros Latency::*Quantile>
TableValue latency_of(const Result& result, bool) {
  if (result.answered == 0) return {"\u2013", std::nullopt};
  return decimal_value(static_cast<double>((result.latency.*Quantile).count()) / 1000);
}
template <std::uint64_t Result::*Count>
TableValue count_of(const Result& result, bool) {
  return {count_text(result.*Count), static_cast<double>(result.*Count)};
}

/// Two significant digits.
std::string percent_text_of(std::uint64_t part, std::uint64_t whole) {
  const auto percent = 100 * static_cast<double>(part) / static_cast<double>(whole);
  return percent < 9.95 ? fmt::format("{:.2g} %", percent) : fmt::format("{:.0f} %", percent);
}

TableValue errors_value(const Result& result, bool) {
  auto value = count_of<&Result::errors>(result, false);
  if (result.errors > 0 && result.requests > 0)
    value.text += fmt::format(" ({})", percent_text_of(result.errors, result.requests));
  return value;
}

TableValue regret_value(const Result& result, bool) {
  if (result.regret <= 0) return {"\u2013", std::nullopt};
  return decimal_value(result.regret);
}

template <Micros Result::*Delay>
TableValue delay_of(const Result& result, bool has_changes) {
  const auto delay = result.*Delay;
  if (!has_changes) return {"\u2013", std::nullopt};
  if (delay < Micros{0}) return {"never", std::numeric_limits<double>::infinity()};
  return decimal_value(seconds_of(delay));
}

using enum BestValue;

/// The most important ones first: on a narrow screen the others are out of sight.
constexpr std::array<TableColumn, 17> kTableColumns{{
    {"p99, ms", "99 % of the answered requests took at most this long", least,
     latency_of<&Latency::p99>},
    {"errors", "requests without an answer, and their part of all requests", least, errors_value},
    {"goodput, 1/s", "answers per second within the time that the scenario allows", most,
     [](const Result& r, bool) { return decimal_value(r.goodput); }},
    {"regret", "p99 divided by that of the oracle", least, regret_value},
    {"noticed, s",
     "time from the first change until the strategy sent the changed mirror less than half an even "
     "share, or at least an even share if the mirror gains by the change",
     least, delay_of<&Result::noticed>},
    {"recovered, s",
     "time from the last change until the changed mirror had three quarters of an even share again",
     least, delay_of<&Result::recovered>},
    {"p50, ms", {}, least, latency_of<&Latency::p50>},
    {"p90, ms", {}, least, latency_of<&Latency::p90>},
    {"p99.9, ms", {}, least, latency_of<&Latency::p999>},
    {"longest, ms", {}, least, latency_of<&Latency::longest>},
    {"skew", "attempts at the busiest mirror, divided by an even part", least,
     [](const Result& r, bool) { return decimal_value(r.skew); }},
    {"extra, %", "attempts beyond one per request", least,
     [](const Result& r, bool) { return decimal_value(r.extra * 100); }},
    {"hedges", "second attempts before the first had ended", none, count_of<&Result::hedges>},
    {"retries", {}, none, count_of<&Result::retries>},
    {"attempts", {}, none, count_of<&Result::attempts>},
    {"answered", {}, most, count_of<&Result::answered>},
    {"requests", {}, none, count_of<&Result::requests>},
}};

using TableColumnValues = std::vector<TableValue>;  // one per result

/// The best text of a column, or none if there is no choice between texts. References do not
/// take part.
std::optional<std::string> best_of(const TableColumn& column, const Report& report,
                                   const TableColumnValues& values) {
  const TableValue* best = nullptr;
  const TableValue* worst = nullptr;
  const auto sign = column.best == most ? -1.0 : 1.0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto& value = values[i];
    if (!value.number || is_reference(report.results[i].strategy)) continue;
    if (best == nullptr || sign * *value.number < sign * *best->number) best = &value;
    if (worst == nullptr || sign * *value.number > sign * *worst->number) worst = &value;
  }
  if (column.best == none || best == nullptr || best->text == worst->text) return std::nullopt;
  return best->text;
}

std::string table_cell(const TableValue& value, bool is_best) {
  if (!is_best) return fmt::format("<td>{}</td>", html_escaped(value.text));
  return fmt::format(
      "<td class=\"best\"><span class=\"hidden\">best: </span>{}<span aria-hidden=\"true\"> "
      "\u2605</span></td>",
      html_escaped(value.text));
}

std::string table_head(std::string_view caption) {
  return fmt::format(
      "<div class=\"scroll\" role=\"region\" aria-label=\"{0}\" tabindex=\"0\">\n<table>\n"
      "<caption class=\"hidden\">{0}</caption>\n<thead><tr><th scope=\"col\">strategy</th>",
      html_escaped(caption));
}

/// All strategies of a report in the order of their first appearance.
std::vector<std::string_view> all_strategies(std::span<const Report> reports) {
  std::vector<std::string_view> names;
  for (const auto& report : reports)
    for (const auto& result : report.results)
      if (std::ranges::find(names, result.strategy) == names.end())
        names.emplace_back(result.strategy);
  return names;
}

/// The position of the strategy with the lowest p99, references excluded; empty if none answered.
std::optional<std::size_t> lowest_p99(const Report& report) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < report.results.size(); ++i) {
    const auto& result = report.results[i];
    if (is_reference(result.strategy) || result.answered == 0) continue;
    if (!best || result.latency.p99 < report.results[*best].latency.p99) best = i;
  }
  return best;
}

std::string overview_cell(const Report& report, std::string_view strategy) {
  const auto found = std::ranges::find(report.results, strategy, &Result::strategy);
  if (found == report.results.end()) return "<td>\u2013</td>";
  const auto best = lowest_p99(report);
  const bool is_best =
      best && !is_reference(strategy) && found->latency.p99 == report.results[*best].latency.p99;
  return table_cell(latency_of<&Latency::p99>(*found, false), is_best && found->answered > 0);
}

/// Classes of the style sheet for the line of the strategy at that position: its colour (c0 to c7)
/// and its dashes (d0 to d2), so that lines differ without colours too. html_report.js has the same
/// rule.
std::string line_classes(std::size_t strategy) {
  return fmt::format("c{} d{}", strategy % 8, strategy % 3);
}

/// The table of all strategies of a scenario; the best value of each column that has one is marked.
std::string strategy_table(const Report& report) {
  auto out = table_head(fmt::format("{}: results of each strategy", report.scenario.name));
  const bool has_changes = !reported_changes(report.scenario).empty();
  std::vector<TableColumnValues> columns;
  std::vector<std::optional<std::string>> best;
  for (const auto& column : kTableColumns) {
    out += fmt::format("<th scope=\"col\">{}</th>", column.title);
    auto& values = columns.emplace_back();
    for (const auto& result : report.results) values.push_back(column.value(result, has_changes));
    best.push_back(best_of(column, report, values));
  }
  out += "</tr></thead>\n<tbody>\n";
  for (std::size_t row = 0; row < report.results.size(); ++row) {
    const auto& result = report.results[row];
    out += is_reference(result.strategy) ? "<tr class=\"reference\">" : "<tr>";
    const auto line = is_reference(result.strategy) ? "reference-line" : line_classes(row);
    out +=
        fmt::format(R"(<th scope="row"><span class="sample {}" aria-hidden="true"></span>{}</th>)",
                    line, html_escaped(result.strategy));
    for (std::size_t i = 0; i < columns.size(); ++i)
      out += table_cell(columns[i][row],
                        !is_reference(result.strategy) && columns[i][row].text == best[i]);
    out += "</tr>\n";
  }
  return out + "</tbody>\n</table>\n</div>\n";
}

/// The id of a scenario's section.
std::string scenario_id(std::size_t scenario) {
  return fmt::format("scenario-{}", scenario + 1);
}

/// p99 of each strategy in each scenario: for reports with several.
std::string overview_table(std::span<const Report> reports) {
  auto out = table_head("p99 of each strategy in each scenario, in milliseconds");
  for (std::size_t i = 0; i < reports.size(); ++i)
    out += fmt::format(R"(<th scope="col"><a href="#{}">{}</a></th>)", scenario_id(i),
                       html_escaped(reports[i].scenario.name));
  out += "</tr></thead>\n<tbody>\n";
  for (const auto strategy : all_strategies(reports)) {
    out += is_reference(strategy) ? "<tr class=\"reference\">" : "<tr>";
    out += fmt::format("<th scope=\"row\">{}</th>", html_escaped(strategy));
    for (const auto& report : reports) out += overview_cell(report, strategy);
    out += "</tr>\n";
  }
  return out + "</tbody>\n</table>\n</div>\n";
}

/// The meaning of the columns, as a list of terms.
std::string column_help() {
  std::string out = "<dl>\n";
  for (const auto& column : kTableColumns)
    if (!column.help.empty())
      out += fmt::format("<dt>{}</dt><dd>{}</dd>\n", column.title, html_escaped(column.help));
  return out + "</dl>\n";
}

/// The result in a sentence.
std::string scenario_verdict(const Report& report) {
  const auto best = lowest_p99(report);
  if (!best) return {};
  const auto& result = report.results[*best];
  auto text = fmt::format("Lowest p99: <b>{}</b> with {}", html_escaped(result.strategy),
                          duration_text(result.latency.p99));
  if (result.regret > 0)
    text += fmt::format(", {} times the oracle\u2019s", short_number(result.regret));
  text += result.errors == 0 ? std::string("; no request failed")
                             : fmt::format("; {} of {} requests failed", count_text(result.errors),
                                           count_text(result.requests));
  return fmt::format("<p class=\"verdict\">{}.</p>\n", text);
}

std::string change_list(const Report& report) {
  const auto changes = reported_changes(report.scenario);
  if (changes.empty()) return {};
  std::string out = "<h3>Changes</h3>\n<ol class=\"changes\">\n";
  for (const auto& change : changes)
    out += fmt::format("<li>{} s: {}</li>\n", round_number(seconds_of(change.at)),
                       html_escaped(change.text));
  return out + "</ol>\n";
}

std::string scenario_section(const Report& report, std::size_t place, std::string& chart_data) {
  auto out = fmt::format(
      "<section id=\"{0}\" aria-labelledby=\"{0}-name\">\n<h2 id=\"{0}-name\">{1}"
      "</h2>\n",
      scenario_id(place), html_escaped(report.scenario.name));
  if (const auto& about = report.scenario.about; !about.empty())
    out += fmt::format("<p>{}</p>\n", html_escaped(about));
  if (report.results.empty())
    return out + "<p class=\"none\">No strategy was simulated.</p>\n</section>\n";
  return out + scenario_verdict(report) + change_list(report) + strategy_table(report) +
         scenario_charts(report, chart_data) + "</section>\n";
}

/// The scripts that draw the charts, and what they draw.
std::string chart_scripts(std::string_view chart_data) {
  if (chart_data.empty()) return {};
  std::string out =
      "<noscript>The charts need JavaScript; the tables have the results of the whole "
      "simulation.</noscript>\n<script type=\"application/json\" id=\"data\">[";
  for (const char& c : chart_data)  // no text ends the script element, or begins a comment in it
    out += c == '<' ? std::string_view("\\u003c") : std::string_view(&c, 1);
  out += "]</script>\n<script>";
  out.append(&karmad_chart_js, &karmad_chart_js_end);
  return out.append("</script>\n<script>").append(kHtmlReportScript).append("</script>\n");
}

std::string page_end(std::string_view chart_data) {
  return fmt::format(
      "<footer>\n<details><summary>What the columns and charts mean</summary>\n{}"
      "<p>\u2605 marks the best strategies of a column. The oracle knows the true state of every "
      "mirror, and the row \u201crecorded\u201d is what the access log tells; they are references, "
      "not strategies. Latencies are exact to 3 %. Numbers above the "
      "charts are those of the changes.</p>\n</details>\n</footer>\n{}</body>\n</html>\n",
      column_help(), chart_scripts(chart_data));
}

}  // namespace

std::string html_report(std::span<const Report> reports, std::uint64_t seed) {
  auto page = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n"
      "<meta charset=\"utf-8\"/>\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src {}; "
      "script-src {}; base-uri 'none'; form-action 'none'\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
      "<meta name=\"color-scheme\" content=\"light dark\"/>\n"
      "<title>karmad simulate</title>\n<style>{}</style>\n</head>\n<body>\n"
      "<header>\n<h1>karmad simulate</h1>\n<p>karmad {}, seed {}</p>\n</header>\n<main>\n",
      kHtmlReportStyleHash, kHtmlReportScriptHashes, kHtmlReportStyle, KARMAD_VERSION, seed);
  std::string chart_data;
  if (reports.empty()) page += "<p class=\"none\">No scenario was simulated.</p>\n";
  if (reports.size() > 1)
    page +=
        "<section>\n<h2>p99 in each scenario, ms</h2>\n" + overview_table(reports) + "</section>\n";
  for (std::size_t i = 0; i < reports.size(); ++i)
    page += scenario_section(reports[i], i, chart_data);
  return page + "</main>\n" + page_end(chart_data);
}

}  // namespace karmad::simulate
