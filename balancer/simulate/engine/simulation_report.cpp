#include "balancer/simulate/engine/simulation_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "agent/json/json_line.hpp"
#include "balancer/simulate/world/recorder.hpp"

namespace karmad {
namespace {

double milliseconds(Micros time) {
  return static_cast<double>(time.count()) / 1000;
}

std::string ms(Micros time) {
  const auto value = milliseconds(time);
  if (value < 0) return "-";
  return value < 100 ? fmt::format("{:.1f}", value) : fmt::format("{:.0f}", value);
}

/// A part of one in percent; small parts keep a digit that is not 0.
std::string percent(double part) {
  const auto value = part * 100;
  return value != 0 && value > -0.1 && value < 0.1 ? fmt::format("{:.3f}%", value)
                                                   : fmt::format("{:.1f}%", value);
}

double error_share(const SimulationResult& result) {
  if (result.requests == 0) return 0;
  return static_cast<double>(result.errors) / static_cast<double>(result.requests);
}

using Row = std::vector<std::string>;

Row row_of(const SimulationResult& result) {
  const auto& latency = result.latency;
  return {result.strategy,
          ms(latency.p50),
          ms(latency.p90),
          ms(latency.p99),
          ms(latency.p999),
          percent(error_share(result)),
          fmt::format("{:.0f}", result.goodput),
          fmt::format("{:.2f}", result.skew),
          percent(result.extra),
          ms(result.noticed),
          ms(result.recovered),
          result.regret > 0 ? fmt::format("{:.2f}", result.regret) : "-"};
}

/// The first column is aligned to the left, the others to the right.
std::string aligned(const std::vector<Row>& rows) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  std::string text;
  for (const auto& row : rows) {
    text += fmt::format("{:<{}}", row[0], widths[0]);
    for (std::size_t i = 1; i < row.size(); ++i) text += fmt::format("  {:>{}}", row[i], widths[i]);
    text += '\n';
  }
  return text;
}

/// A result's numbers, for CSV and JSON alike.
struct NumberColumn {
  const char* name;
  double (*of)(const SimulationResult&);
};
using R = SimulationResult;
constexpr std::array kNumbers{
    NumberColumn{"requests", [](const R& r) { return static_cast<double>(r.requests); }},
    NumberColumn{"answered", [](const R& r) { return static_cast<double>(r.answered); }},
    NumberColumn{"errors", [](const R& r) { return static_cast<double>(r.errors); }},
    NumberColumn{"attempts", [](const R& r) { return static_cast<double>(r.attempts); }},
    NumberColumn{"hedges", [](const R& r) { return static_cast<double>(r.hedges); }},
    NumberColumn{"retries", [](const R& r) { return static_cast<double>(r.retries); }},
    NumberColumn{"p50_ms", [](const R& r) { return milliseconds(r.latency.p50); }},
    NumberColumn{"p90_ms", [](const R& r) { return milliseconds(r.latency.p90); }},
    NumberColumn{"p99_ms", [](const R& r) { return milliseconds(r.latency.p99); }},
    NumberColumn{"p999_ms", [](const R& r) { return milliseconds(r.latency.p999); }},
    NumberColumn{"longest_ms", [](const R& r) { return milliseconds(r.latency.longest); }},
    NumberColumn{"goodput", [](const R& r) { return r.goodput; }},
    NumberColumn{"skew", [](const R& r) { return r.skew; }},
    NumberColumn{"extra", [](const R& r) { return r.extra; }},
    NumberColumn{"regret", [](const R& r) { return r.regret; }},
};
/// Negative times are unknown: empty in CSV, null in JSON.
struct TimeColumn {
  const char* name;
  Micros R::*time;
};
constexpr std::array kTimes{TimeColumn{"noticed_ms", &R::noticed},
                            TimeColumn{"recovered_ms", &R::recovered}};

void add_name(JsonLine& line, std::string_view name) {
  line.add_quoted(name);
  line.add(':');
}

void add_latency(JsonLine& line, const SimulatedLatency& latency) {
  line.add(R"("p50_ms":)");
  line.add_number(milliseconds(latency.p50));
  line.add(R"(,"p90_ms":)");
  line.add_number(milliseconds(latency.p90));
  line.add(R"(,"p99_ms":)");
  line.add_number(milliseconds(latency.p99));
  line.add(R"(,"p999_ms":)");
  line.add_number(milliseconds(latency.p999));
}

void add_interval(JsonLine& line, const SimulatedInterval& interval) {
  line.add(R"({"from_ms":)");
  line.add_number(milliseconds(interval.from));
  line.add(R"(,"requests":)");
  line.add_number(interval.requests);
  line.add(R"(,"errors":)");
  line.add_number(interval.errors);
  line.add(',');
  add_latency(line, interval.latency);
  line.add(R"(,"mirrors":[)");
  for (std::size_t i = 0; i < interval.mirrors.size(); ++i) {
    const auto& mirror = interval.mirrors[i];
    if (i != 0) line.add(',');
    line.add(R"({"attempts":)");
    line.add_number(mirror.attempts);
    line.add(R"(,"in_flight":)");
    line.add_number(mirror.in_flight);
    line.add(R"(,"share":)");
    line.add_number(mirror.share);
    line.add('}');
  }
  line.add("]}");
}

void add_news(JsonLine& line, const SimulatedNews& news) {
  line.add(R"({"at_ms":)");
  line.add_number(milliseconds(news.at));
  line.add(R"(,"mirror":)");
  line.add_number(news.mirror);
  line.add(R"(,"state":)");
  line.add_quoted(news.state);
  line.add(R"(,"former_state":)");
  line.add_quoted(news.former_state);
  line.add(R"(,"reason":)");
  line.add_quoted(news.reason);
  line.add('}');
}

void add_result(JsonLine& line, const SimulationResult& result) {
  line.add(R"({"strategy":)");
  line.add_quoted(result.strategy);
  for (const auto& column : kNumbers) {
    line.add(',');
    add_name(line, column.name);
    line.add_number(column.of(result));
  }
  for (const auto& column : kTimes) {
    line.add(',');
    add_name(line, column.name);
    const auto time = result.*column.time;
    if (time < Micros{0})
      line.add("null");
    else
      line.add_number(milliseconds(time));
  }
  line.add(R"(,"interval_ms":)");
  line.add_number(milliseconds(result.interval));
  line.add(R"(,"intervals":[)");
  for (std::size_t i = 0; i < result.intervals.size(); ++i) {
    if (i != 0) line.add(',');
    add_interval(line, result.intervals[i]);
  }
  line.add(R"(],"news":[)");
  for (std::size_t i = 0; i < result.news.size(); ++i) {
    if (i != 0) line.add(',');
    add_news(line, result.news[i]);
  }
  line.add("]}");
}

void add_report(JsonLine& line, const SimulationReport& report) {
  const auto& scenario = report.scenario;
  line.add(R"({"scenario":)");
  line.add_quoted(scenario.name);
  line.add(R"(,"about":)");
  line.add_quoted(scenario.about);
  line.add(R"(,"mirrors":)");
  line.add_number(scenario.mirrors);
  line.add(R"(,"mirror_names":[)");
  bool first = true;
  for (const auto& name : first_mirror_names(scenario, kReportedMirrors)) {
    if (!std::exchange(first, false)) line.add(',');
    line.add_quoted(name);
  }
  line.add(R"(],"masters":)");
  line.add_number(scenario.masters);
  line.add(R"(,"rate":)");
  line.add_number(scenario.rate);
  line.add(R"(,"duration_ms":)");
  line.add_number(scenario.duration * 1000);
  line.add(R"(,"changes":[)");
  first = true;
  for (const auto& change : simulated_changes(scenario)) {
    if (!std::exchange(first, false)) line.add(',');
    line.add(R"({"at_ms":)");
    line.add_number(milliseconds(change.at));
    line.add(R"(,"text":)");
    line.add_quoted(change.text);
    line.add('}');
  }
  line.add(R"(],"results":[)");
  for (std::size_t i = 0; i < report.results.size(); ++i) {
    if (i != 0) line.add(',');
    add_result(line, report.results[i]);
  }
  line.add("]}");
}

}  // namespace

std::string simulation_table(const SimulationReport& report, std::uint64_t seed) {
  const auto& scenario = report.scenario;
  std::vector<Row> rows{{"strategy", "p50", "p90", "p99", "p99.9", "errors", "goodput/s", "skew",
                         "extra", "noticed", "recovered", "regret"}};
  for (const auto& result : report.results) rows.push_back(row_of(result));
  return fmt::format(
      "{}{}{}\n{} mirror{}, {} master{}, {:g} requests/s, {:g} s, seed {}; times in "
      "ms\n\n{}",
      scenario.name, scenario.about.empty() ? "" : ": ", scenario.about, scenario.mirrors,
      scenario.mirrors == 1 ? "" : "s", scenario.masters, scenario.masters == 1 ? "" : "s",
      scenario.rate, scenario.duration, seed, aligned(rows));
}

std::string simulation_json(const std::vector<SimulationReport>& reports, std::uint64_t seed) {
  std::string text;
  {
    JsonLine line(text);
    line.add(R"({"seed":)");
    line.add_number(seed);
    line.add(R"(,"scenarios":[)");
    for (std::size_t i = 0; i < reports.size(); ++i) {
      if (i != 0) line.add(',');
      add_report(line, reports[i]);
    }
    line.add("]}\n");
  }
  return text;
}

std::string simulation_csv(const std::vector<SimulationReport>& reports) {
  std::string text = "scenario,strategy";
  for (const auto& column : kNumbers) text += fmt::format(",{}", column.name);
  for (const auto& column : kTimes) text += fmt::format(",{}", column.name);
  text += '\n';
  for (const auto& report : reports)
    for (const auto& result : report.results) {
      text += fmt::format("{},{}", result.scenario, result.strategy);
      for (const auto& column : kNumbers) text += fmt::format(",{}", column.of(result));
      for (const auto& column : kTimes) {
        const auto time = result.*column.time;
        text += time < Micros{0} ? "," : fmt::format(",{}", milliseconds(time));
      }
      text += '\n';
    }
  return text;
}

}  // namespace karmad
