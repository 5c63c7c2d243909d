#include "balancer/simulate/html_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <vector>

#include "balancer/simulate/report_charts.hpp"
#include "html_report_parts.hpp"

// Chart.js, in the assembler file that balancer/dashboard/embed.cmake makes.
extern "C" {
extern const char karmad_chart_js;
extern const char karmad_chart_js_end;
}

namespace karmad {
namespace {

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
  TableValue (*value)(const SimulationResult& result, bool has_changes);
};

TableValue count_value(std::uint64_t count) {
  return {count_text(count), static_cast<double>(count)};
}

TableValue decimal_value(double number) {
  return {short_number(number), number};
}

TableValue latency_value(const SimulationResult& result, Micros latency) {
  if (result.answered == 0) return {"\u2013", std::nullopt};
  return decimal_value(static_cast<double>(latency.count()) / 1000);
}

TableValue delay_value(Micros delay, bool has_changes) {
  if (!has_changes) return {"\u2013", std::nullopt};
  if (delay < Micros{0}) return {"never", std::numeric_limits<double>::infinity()};
  return decimal_value(static_cast<double>(delay.count()) / 1e6);
}

/// Two significant digits.
std::string percent_text_of(std::uint64_t part, std::uint64_t whole) {
  const auto percent = 100 * static_cast<double>(part) / static_cast<double>(whole);
  return percent < 9.95 ? fmt::format("{:.2g} %", percent) : fmt::format("{:.0f} %", percent);
}

TableValue errors_value(const SimulationResult& result, bool) {
  auto value = count_value(result.errors);
  if (result.errors > 0 && result.requests > 0)
    value.text += fmt::format(" ({})", percent_text_of(result.errors, result.requests));
  return value;
}

TableValue regret_value(const SimulationResult& result, bool) {
  if (result.regret <= 0) return {"\u2013", std::nullopt};
  return decimal_value(result.regret);
}

template <Micros SimulatedLatency::*Quantile>
TableValue latency_of(const SimulationResult& result, bool) {
  return latency_value(result, result.latency.*Quantile);
}
template <std::uint64_t SimulationResult::*Count>
TableValue count_of(const SimulationResult& result, bool) {
  return count_value(result.*Count);
}
template <Micros SimulationResult::*Delay>
TableValue delay_of(const SimulationResult& result, bool has_changes) {
  return delay_value(result.*Delay, has_changes);
}

using enum BestValue;

/// The most important ones first: on a narrow screen the others are out of sight.
constexpr std::array<TableColumn, 17> kTableColumns{{
    {"p99, ms", "99 % of the answered requests took at most this long", least,
     latency_of<&SimulatedLatency::p99>},
    {"errors", "requests without an answer, and their part of all requests", least, errors_value},
    {"goodput, 1/s", "answers per second within the time that the scenario allows", most,
     [](const SimulationResult& r, bool) { return decimal_value(r.goodput); }},
    {"regret", "p99 divided by that of the oracle", least, regret_value},
    {"noticed, s",
     "time from the first change until the strategy sent the changed mirror less than half an even "
     "share, or at least an even share if the mirror gains by the change",
     least, delay_of<&SimulationResult::noticed>},
    {"recovered, s",
     "time from the last change until the changed mirror had three quarters of an even share again",
     least, delay_of<&SimulationResult::recovered>},
    {"p50, ms", {}, least, latency_of<&SimulatedLatency::p50>},
    {"p90, ms", {}, least, latency_of<&SimulatedLatency::p90>},
    {"p99.9, ms", {}, least, latency_of<&SimulatedLatency::p999>},
    {"longest, ms", {}, least, latency_of<&SimulatedLatency::longest>},
    {"skew", "attempts at the busiest mirror, divided by an even part", least,
     [](const SimulationResult& r, bool) { return decimal_value(r.skew); }},
    {"extra, %", "attempts beyond one per request", least,
     [](const SimulationResult& r, bool) { return decimal_value(r.extra * 100); }},
    {"hedges", "second attempts before the first had ended", none,
     count_of<&SimulationResult::hedges>},
    {"retries", {}, none, count_of<&SimulationResult::retries>},
    {"attempts", {}, none, count_of<&SimulationResult::attempts>},
    {"answered", {}, most, count_of<&SimulationResult::answered>},
    {"requests", {}, none, count_of<&SimulationResult::requests>},
}};

using TableColumnValues = std::vector<TableValue>;  // one per result

/// The best text of a column, or none if there is no choice between texts. References do not
/// take part.
std::optional<std::string> best_of(const TableColumn& column, const ScenarioReport& scenario,
                                   const TableColumnValues& values) {
  const TableValue* best = nullptr;
  const TableValue* worst = nullptr;
  const auto sign = column.best == most ? -1.0 : 1.0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto& value = values[i];
    if (!value.number || is_reference(scenario.results[i].strategy)) continue;
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
  auto out = fmt::format(
      "<div class=\"scroll\" role=\"region\" aria-label=\"{0}\" tabindex=\"0\">\n<table>\n"
      "<caption class=\"hidden\">{0}</caption>\n<thead><tr><th scope=\"col\">strategy</th>",
      html_escaped(caption));
  return out;
}

std::string strategy_cell(const SimulationResult& result, std::size_t place) {
  return fmt::format(
      "<th scope=\"row\"><span class=\"sample {}\" aria-hidden=\"true\"></span>{}</th>",
      line_classes(place, is_reference(result.strategy)), html_escaped(result.strategy));
}

/// All strategies of a report in the order of their first appearance.
std::vector<std::string_view> all_strategies(const HtmlReport& report) {
  std::vector<std::string_view> names;
  for (const auto& scenario : report.scenarios)
    for (const auto& result : scenario.results)
      if (std::ranges::find(names, result.strategy) == names.end())
        names.emplace_back(result.strategy);
  return names;
}

/// The position of the strategy with the lowest p99, references excluded; empty if none answered.
std::optional<std::size_t> lowest_p99(const ScenarioReport& scenario) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < scenario.results.size(); ++i) {
    const auto& result = scenario.results[i];
    if (is_reference(result.strategy) || result.answered == 0) continue;
    if (!best || result.latency.p99 < scenario.results[*best].latency.p99) best = i;
  }
  return best;
}

std::string overview_cell(const ScenarioReport& scenario, std::string_view strategy) {
  const auto found = std::ranges::find(scenario.results, strategy, &SimulationResult::strategy);
  if (found == scenario.results.end()) return "<td>\u2013</td>";
  const auto best = lowest_p99(scenario);
  const bool is_best =
      best && !is_reference(strategy) && found->latency.p99 == scenario.results[*best].latency.p99;
  return table_cell(latency_value(*found, found->latency.p99), is_best && found->answered > 0);
}

/// The table of all strategies of a scenario; the best value of each column that has one is marked.
std::string strategy_table(const ScenarioReport& scenario) {
  auto out = table_head(fmt::format("{}: results of each strategy", scenario.name));
  std::vector<TableColumnValues> columns;
  std::vector<std::optional<std::string>> best;
  for (const auto& column : kTableColumns) {
    out += fmt::format("<th scope=\"col\">{}</th>", column.title);
    auto& values = columns.emplace_back();
    for (const auto& result : scenario.results)
      values.push_back(column.value(result, !scenario.changes.empty()));
    best.push_back(best_of(column, scenario, values));
  }
  out += "</tr></thead>\n<tbody>\n";
  for (std::size_t row = 0; row < scenario.results.size(); ++row) {
    const auto& result = scenario.results[row];
    out += is_reference(result.strategy) ? "<tr class=\"reference\">" : "<tr>";
    out += strategy_cell(result, row);
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
std::string overview_table(const HtmlReport& report) {
  auto out = table_head("p99 of each strategy in each scenario, in milliseconds");
  for (std::size_t i = 0; i < report.scenarios.size(); ++i)
    out += fmt::format("<th scope=\"col\"><a href=\"#{}\">{}</a></th>", scenario_id(i),
                       html_escaped(report.scenarios[i].name));
  out += "</tr></thead>\n<tbody>\n";
  for (const auto strategy : all_strategies(report)) {
    out += is_reference(strategy) ? "<tr class=\"reference\">" : "<tr>";
    out += fmt::format("<th scope=\"row\">{}</th>", html_escaped(strategy));
    for (const auto& scenario : report.scenarios) out += overview_cell(scenario, strategy);
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

std::string page_head(const HtmlReport& report) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n"
      "<meta charset=\"utf-8\"/>\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src {}; "
      "script-src {}; base-uri 'none'; form-action 'none'\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
      "<meta name=\"color-scheme\" content=\"light dark\"/>\n"
      "<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n",
      kHtmlReportStyleHash, kHtmlReportScriptHashes, html_escaped(report.title), kHtmlReportStyle);
}

std::string report_paragraph(std::string_view text) {
  return text.empty() ? std::string() : fmt::format("<p>{}</p>\n", html_escaped(text));
}

/// The result in a sentence.
std::string scenario_verdict(const ScenarioReport& scenario) {
  const auto best = lowest_p99(scenario);
  if (!best) return {};
  const auto& result = scenario.results[*best];
  auto text = fmt::format("Lowest p99: <b>{}</b> with {}", html_escaped(result.strategy),
                          duration_text(result.latency.p99));
  if (result.regret > 0)
    text += fmt::format(", {} times the oracle\u2019s", short_number(result.regret));
  text += result.errors == 0 ? std::string("; no request failed")
                             : fmt::format("; {} of {} requests failed", count_text(result.errors),
                                           count_text(result.requests));
  return fmt::format("<p class=\"verdict\">{}.</p>\n", text);
}

std::string change_list(const ScenarioReport& scenario) {
  if (scenario.changes.empty()) return {};
  std::string out = "<h3>Changes</h3>\n<ol class=\"changes\">\n";
  for (const auto& change : scenario.changes)
    out += fmt::format("<li>{} s: {}</li>\n",
                       round_number(static_cast<double>(change.at.count()) / 1e6),
                       html_escaped(change.text));
  return out + "</ol>\n";
}

std::string scenario_section(const ScenarioReport& scenario, std::size_t place,
                             std::string& chart_data) {
  auto out = fmt::format(
      "<section id=\"{0}\" aria-labelledby=\"{0}-name\">\n<h2 id=\"{0}-name\">{1}"
      "</h2>\n",
      scenario_id(place), html_escaped(scenario.name));
  out += report_paragraph(scenario.description);
  if (scenario.results.empty())
    return out + "<p class=\"none\">No strategy was simulated.</p>\n</section>\n";
  return out + scenario_verdict(scenario) + change_list(scenario) + strategy_table(scenario) +
         scenario_charts(scenario, chart_data) + "</section>\n";
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

std::string html_report(const HtmlReport& report) {
  auto page = page_head(report);
  page += fmt::format("<header>\n<h1>{}</h1>\n{}</header>\n<main>\n", html_escaped(report.title),
                      report_paragraph(report.description));
  std::string chart_data;
  if (report.scenarios.empty()) page += "<p class=\"none\">No scenario was simulated.</p>\n";
  if (report.scenarios.size() > 1)
    page +=
        "<section>\n<h2>p99 in each scenario, ms</h2>\n" + overview_table(report) + "</section>\n";
  for (std::size_t i = 0; i < report.scenarios.size(); ++i)
    page += scenario_section(report.scenarios[i], i, chart_data);
  return page + "</main>\n" + page_end(chart_data);
}

}  // namespace karmad
