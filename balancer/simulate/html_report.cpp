#include "balancer/simulate/html_report.hpp"

#include <fmt/format.h>

#include "balancer/simulate/html_text.hpp"
#include "balancer/simulate/report_charts.hpp"
#include "balancer/simulate/report_table.hpp"
#include "balancer/simulate/svg_charts.hpp"
#include "html_report_style.hpp"

namespace karmad {
namespace {

std::string page_head(const HtmlReport& report) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n"
      "<meta charset=\"utf-8\"/>\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src {}; "
      "base-uri 'none'; form-action 'none'\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
      "<meta name=\"color-scheme\" content=\"light dark\"/>\n"
      "<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n",
      kHtmlReportStyleHash, html_escaped(report.title), kHtmlReportStyle);
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

std::string scenario_section(const ScenarioReport& scenario, std::size_t place) {
  auto out = fmt::format(
      "<section id=\"{0}\" aria-labelledby=\"{0}-name\">\n<h2 id=\"{0}-name\">{1}"
      "</h2>\n",
      scenario_id(place), html_escaped(scenario.name));
  out += report_paragraph(scenario.description);
  if (scenario.results.empty())
    return out + "<p class=\"none\">No strategy was simulated.</p>\n</section>\n";
  return out + scenario_verdict(scenario) + change_list(scenario) + strategy_table(scenario) +
         scenario_charts(scenario) + "</section>\n";
}

std::string page_end() {
  return fmt::format(
      "<footer>\n<details><summary>What the columns and charts mean</summary>\n{}"
      "<p>\u2605 marks the best strategies of a column. The oracle knows the true state of every "
      "mirror, and the row \u201crecorded\u201d is what the access log tells; they are references, "
      "not strategies. Latencies are exact to 3 %. Numbers above the "
      "charts are those of the changes.</p>\n</details>\n</footer>\n</body>\n</html>\n",
      column_help());
}

}  // namespace

std::string html_report(const HtmlReport& report) {
  auto page = page_head(report);
  page += fmt::format("<header>\n<h1>{}</h1>\n{}</header>\n<main>\n", html_escaped(report.title),
                      report_paragraph(report.description));
  page += chart_patterns();
  if (report.scenarios.empty()) page += "<p class=\"none\">No scenario was simulated.</p>\n";
  if (report.scenarios.size() > 1)
    page +=
        "<section>\n<h2>p99 in each scenario, ms</h2>\n" + overview_table(report) + "</section>\n";
  for (std::size_t i = 0; i < report.scenarios.size(); ++i)
    page += scenario_section(report.scenarios[i], i);
  return page + "</main>\n" + page_end();
}

}  // namespace karmad
