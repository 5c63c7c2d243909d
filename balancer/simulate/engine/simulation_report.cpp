#include "balancer/simulate/engine/simulation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ranges>

#include "agent/stats/document.hpp"

namespace karmad::simulate {
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

double error_share(const Result& result) {
  if (result.requests == 0) return 0;
  return static_cast<double>(result.errors) / static_cast<double>(result.requests);
}

using Row = std::vector<std::string>;

Row row_of(const Result& result) {
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
  double (*of)(const Result&);
};
constexpr std::array kNumbers{
    NumberColumn{"requests", [](const Result& r) { return static_cast<double>(r.requests); }},
    NumberColumn{"answered", [](const Result& r) { return static_cast<double>(r.answered); }},
    NumberColumn{"errors", [](const Result& r) { return static_cast<double>(r.errors); }},
    NumberColumn{"attempts", [](const Result& r) { return static_cast<double>(r.attempts); }},
    NumberColumn{"hedges", [](const Result& r) { return static_cast<double>(r.hedges); }},
    NumberColumn{"retries", [](const Result& r) { return static_cast<double>(r.retries); }},
    NumberColumn{"p50_ms", [](const Result& r) { return milliseconds(r.latency.p50); }},
    NumberColumn{"p90_ms", [](const Result& r) { return milliseconds(r.latency.p90); }},
    NumberColumn{"p99_ms", [](const Result& r) { return milliseconds(r.latency.p99); }},
    NumberColumn{"p999_ms", [](const Result& r) { return milliseconds(r.latency.p999); }},
    NumberColumn{"longest_ms", [](const Result& r) { return milliseconds(r.latency.longest); }},
    NumberColumn{"goodput", [](const Result& r) { return r.goodput; }},
    NumberColumn{"skew", [](const Result& r) { return r.skew; }},
    NumberColumn{"extra", [](const Result& r) { return r.extra; }},
    NumberColumn{"regret", [](const Result& r) { return r.regret; }},
};
/// Negative times are unknown: empty in CSV, null in JSON.
struct TimeColumn {
  const char* name;
  Micros Result::*time;
};
constexpr std::array kTimes{TimeColumn{"noticed_ms", &Result::noticed},
                            TimeColumn{"recovered_ms", &Result::recovered}};

void add_time(Document& out, std::string_view key, Micros time) {
  out.value(key, time, Unit::milliseconds);
}

void add_interval(Document& out, const Interval& interval) {
  add_time(out, "from_ms", interval.from);
  out.value("requests", interval.requests);
  out.value("errors", interval.errors);
  add_time(out, "p50_ms", interval.latency.p50);
  add_time(out, "p90_ms", interval.latency.p90);
  add_time(out, "p99_ms", interval.latency.p99);
  add_time(out, "p999_ms", interval.latency.p999);
  out.objects("mirrors", interval.mirrors, [&](const MirrorInterval& mirror) {
    out.value("attempts", mirror.attempts);
    out.value("in_flight", mirror.in_flight);
    out.value("share", mirror.share);
  });
}

void add_news(Document& out, const MirrorNews& news) {
  add_time(out, "at_ms", news.at);
  out.value("mirror", news.mirror);
  out.text("state", news.state);
  out.text("former_state", news.former_state);
  out.text("reason", news.reason);
}

void add_result(Document& out, const Result& result) {
  out.text("strategy", result.strategy);
  for (const auto& column : kNumbers) out.value(column.name, column.of(result));
  for (const auto& column : kTimes) {
    const auto time = result.*column.time;
    out.value(column.name, time < Micros{0} ? StatValue() : StatValue(time), Unit::milliseconds);
  }
  add_time(out, "interval_ms", result.interval);
  out.objects("intervals", result.intervals,
              [&](const Interval& interval) { add_interval(out, interval); });
  out.objects("news", result.news, [&](const MirrorNews& news) { add_news(out, news); });
}

void add_report(Document& out, const Report& report) {
  const auto& scenario = report.scenario;
  out.text("scenario", scenario.name);
  out.text("about", scenario.about);
  out.value("mirrors", scenario.mirrors);
  const auto shown = std::min<std::size_t>(scenario.mirrors, kReportedMirrors);
  out.array("mirror_names", std::views::iota(std::size_t{0}, shown),
            [&](std::size_t mirror) { out.text(mirror_name(scenario, mirror)); });
  out.value("masters", scenario.masters);
  out.value("rate", scenario.rate);
  out.value("duration_ms", scenario.duration * 1000);
  out.objects("changes", reported_changes(scenario), [&](const ReportedChange& change) {
    add_time(out, "at_ms", change.at);
    out.text("text", change.text);
  });
  out.objects("results", report.results, [&](const Result& result) { add_result(out, result); });
}

}  // namespace

std::string report_table(const Report& report, std::uint64_t seed) {
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

std::string report_json(const std::vector<Report>& reports, std::uint64_t seed) {
  return json_object([&](Document& out) {
           out.value("seed", seed);
           out.objects("scenarios", reports,
                       [&](const Report& report) { add_report(out, report); });
         }) +
         '\n';
}

std::string report_csv(const std::vector<Report>& reports) {
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

}  // namespace karmad::simulate
