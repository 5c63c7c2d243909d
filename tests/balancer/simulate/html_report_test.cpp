#include "balancer/simulate/engine/html_report.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidjson/document.h>

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "agent/json/json_text.hpp"

namespace karmad::simulate {
namespace {

using namespace std::chrono_literals;

Result charted_result(std::string strategy, Micros p99, std::size_t mirrors = 3,
                      std::size_t intervals = 20) {
  Result result{.scenario = "stall",
                .strategy = std::move(strategy),
                .requests = 1000,
                .answered = 990,
                .errors = 10,
                .attempts = 1020,
                .latency = {1ms, 2ms, p99, 100ms, 200ms},
                .goodput = 99,
                .skew = 1.1,
                .extra = 0.02,
                .noticed = 2s,
                .regret = 1.5,
                .interval = 1s};
  for (std::size_t i = 0; i < intervals; ++i) {
    Interval interval{.from = i * 1s, .requests = 50, .errors = i == 5 ? 10U : 0U};
    interval.latency.p99 = p99;
    for (std::size_t m = 0; m < mirrors; ++m)
      interval.mirrors.push_back({.attempts = 10, .share = 1.0 / static_cast<double>(mirrors)});
    result.intervals.push_back(std::move(interval));
  }
  return result;
}

MirrorChange change_at(Micros at, std::string text) {
  MirrorChange change;
  change.time = at;
  change.text = std::move(text);
  return change;
}

Report stall_report() {
  Report report;
  report.scenario.name = "stall";
  report.scenario.about = "A mirror stalls.";
  report.scenario.mirrors = 3;
  report.scenario.changes = {change_at(5s, "m2 slow=10"), change_at(10s, "m2 slow=1")};
  report.results = {charted_result("random", 50ms), charted_result("leastops", 20ms),
                    charted_result("oracle", 15ms)};
  return report;
}

std::string page_of(const Report& report) {
  return html_report({&report, 1}, 1);
}

std::string page_of_two(const Report& first, const Report& second) {
  return html_report(std::vector{first, second}, 1);
}

std::size_t count_of_text(std::string_view text, std::string_view wanted) {
  std::size_t count = 0;
  for (auto at = text.find(wanted); at != std::string_view::npos; at = text.find(wanted, at + 1))
    ++count;
  return count;
}

/// The text between two others, the first ones.
std::string_view between(std::string_view page, std::string_view before, std::string_view after) {
  const auto from = page.find(before);
  if (from == page.npos) return {};
  const auto rest = page.substr(from + before.size());
  return rest.substr(0, rest.find(after));
}

constexpr std::string_view kDataElement = "<script type=\"application/json\" id=\"data\">";

/// What the canvases of the page show, as a browser reads it.
rapidjson::Document charts_of(std::string_view page) {
  const auto text = between(page, kDataElement, "</script>");
  rapidjson::Document charts;
  charts.Parse<rapidjson::kParseValidateEncodingFlag>(text.data(), text.size());
  EXPECT_EQ(charts.HasParseError(), text.empty()) << text;
  if (text.empty()) charts.SetArray();
  EXPECT_EQ(charts.Size(), count_of_text(page, "<canvas role=\"img\" aria-label=\""));
  return charts;
}

std::vector<std::optional<double>> numbers_in(const rapidjson::Value& array) {
  std::vector<std::optional<double>> numbers;
  for (const auto& value : array.GetArray())
    numbers.push_back(value.IsNull() ? std::nullopt : std::optional(value.GetDouble()));
  return numbers;
}

/// The page without what is in its script elements, which end at the first `</script`.
std::string without_scripts(std::string_view page) {
  std::string out;
  for (auto at = page.find("<script"); at != page.npos; at = page.find("<script")) {
    const auto content = page.find('>', at) + 1;
    out += page.substr(0, content);
    page.remove_prefix(std::min(page.find("</script", content), page.size()));
  }
  return out.append(page);
}

/// The first problem of the tags and attributes of an XML text; empty if it is well-formed.
std::string markup_problem(std::string_view text) {
  std::vector<std::string_view> open;
  text.remove_prefix(text.find("<html"));
  while (!text.empty()) {
    const auto begin = text.find('<');
    const auto content = text.substr(0, begin);
    for (auto amp = content.find('&'); amp != content.npos; amp = content.find('&', amp + 1))
      if (content.find(';', amp) == content.npos) return "an ampersand is not escaped";
    if (content.contains('>') && (open.empty() || open.back() != "style"))
      return fmt::format("`>` in the text: {}", content.substr(0, 200));
    if (begin == text.npos) break;
    const auto end = text.find('>', begin);
    if (end == text.npos) return "a tag has no end";
    const auto tag = text.substr(begin + 1, end - begin - 1);
    text.remove_prefix(end + 1);
    if (std::ranges::count(tag, '"') % 2 != 0) return fmt::format("quotes in <{}>", tag);
    const auto name = tag.substr(tag.starts_with('/') ? 1 : 0);
    if (tag.starts_with('/')) {
      if (open.empty() || open.back() != name) return fmt::format("</{}> closes nothing", name);
      open.pop_back();
    } else if (!tag.ends_with('/')) {
      open.push_back(name.substr(0, name.find(' ')));
    }
  }
  return open.empty() ? std::string() : fmt::format("<{}> is not closed", open.back());
}

TEST(HtmlReport, IsWellFormed) {
  const auto page = page_of_two(stall_report(), stall_report());
  EXPECT_TRUE(page.starts_with("<!DOCTYPE html>\n<html "));
  EXPECT_EQ(markup_problem(without_scripts(page)), "");
}

TEST(HtmlReport, HasEachIdOnce) {
  const auto page = page_of_two(stall_report(), stall_report());
  std::set<std::string_view> ids;
  for (auto at = page.find(" id=\""); at != page.npos; at = page.find(" id=\"", at + 1)) {
    const auto id = std::string_view(page).substr(at + 5, page.find('"', at + 5) - at - 5);
    EXPECT_TRUE(ids.insert(id).second) << id;
  }
  EXPECT_TRUE(ids.contains("scenario-2"));
}

TEST(HtmlReport, NeedsNoOtherFile) {
  const auto all = page_of(stall_report());
  const auto page = without_scripts(all);
  for (const auto* text :
       {"http:", "https:", "//", "javascript:", "@import", " src=", "<link", "<img", " style="})
    EXPECT_FALSE(page.contains(text)) << text;
  EXPECT_TRUE(page.contains("content=\"default-src 'none'; style-src 'sha256-"));
  EXPECT_TRUE(page.contains("; script-src 'sha256-"));
  EXPECT_FALSE(page.contains("unsafe"));
  EXPECT_EQ(count_of_text(all, "Chart.js v3"), 1U);
}

TEST(HtmlReport, HasNoScriptWithoutCharts) {
  EXPECT_FALSE(html_report({}, 1).contains("<script"));
}

TEST(HtmlReport, EscapesEveryText) {
  for (const std::string hostile :
       {"<script>alert(\"1\")</script>&'\x01\xff", "</script><!--<script>", "]]>\\\"}]</SCRIPT >",
        "\xE2\x80\xA8\xC3<!DOCTYPE"}) {
    auto report = stall_report();
    report.scenario.name = report.scenario.about = hostile;
    report.scenario.mirror_names.assign(3, hostile);
    for (auto& result : report.results) result.strategy = hostile;
    for (auto& change : report.scenario.changes) change.text = hostile;
    const auto page = page_of_two(report, report);
    EXPECT_EQ(markup_problem(without_scripts(page)), "");
    EXPECT_EQ(count_of_text(page, "<script"), 3U) << "the data, Chart.js and what draws";
    EXPECT_FALSE(between(page, kDataElement, "</script>").contains('<'));
    EXPECT_FALSE(page.contains('\x01'));
    EXPECT_FALSE(page.contains('\xff'));
    const auto charts = charts_of(page);
    ASSERT_EQ(charts.Size(), 10U);
    const std::string_view name = charts[0]["lines"][0]["name"].GetString();
    EXPECT_EQ(name, clean_utf8(hostile));
    EXPECT_EQ(charts[9]["lines"][2]["name"].GetString(), name);
  }
}

TEST(HtmlReport, EscapesForHtml) {
  auto report = stall_report();
  report.scenario.name = "<script>alert(\"1\")</script>&'";
  EXPECT_TRUE(page_of(report).contains(
      "&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;&#39;: results of each strategy"));
}

TEST(HtmlReport, IsTheSameForTheSameInput) {
  EXPECT_EQ(page_of(stall_report()), page_of(stall_report()));
}

TEST(HtmlReport, IsComplete) {
  const auto page = page_of(stall_report());
  EXPECT_TRUE(page.contains("Lowest p99: <b>leastops</b> with 20.0 ms, 1.50 times the oracle"));
  EXPECT_EQ(count_of_text(page, "<th scope=\"row\">"), 3U);
  EXPECT_EQ(count_of_text(page, "class=\"large\""), 2U);
  EXPECT_EQ(count_of_text(page, "class=\"small\""), 3U);
  EXPECT_EQ(count_of_text(page, "<li>"), 2U);
  EXPECT_TRUE(page.contains("aria-label=\"stall: p99 of each strategy over time"));
  const auto charts = charts_of(page);
  ASSERT_EQ(charts.Size(), 5U);
  for (const auto& chart : charts.GetArray()) {
    EXPECT_EQ(numbers_in(chart["marks"]), (std::vector<std::optional<double>>{5, 10}));
    EXPECT_EQ(chart["seconds"].GetDouble(), 20);
    EXPECT_EQ(chart["lines"].Size(), 3U) << "strategies, or mirrors";
    for (const auto& line : chart["lines"].GetArray())
      EXPECT_EQ(line["values"].Size(), chart["times"].Size());
  }
}

TEST(HtmlReport, ChartsTheIntervals) {
  auto report = stall_report();
  auto& intervals = report.results[1].intervals;
  intervals[3].latency.p99 = 123456us;
  intervals[4].latency.p99 = 0us;
  intervals[7].requests = 0;
  intervals[9].errors = 25;
  intervals[2].mirrors[1].attempts = 20;
  intervals[6].mirrors = {};
  const auto charts = charts_of(page_of(report));
  ASSERT_EQ(charts.Size(), 5U);
  EXPECT_STREQ(charts[0]["kind"].GetString(), "p99");
  EXPECT_STREQ(charts[0]["lines"][1]["name"].GetString(), "leastops");
  EXPECT_EQ(charts[0]["lines"][1]["place"].GetInt(), 1);
  EXPECT_EQ(charts[0]["lines"][2]["place"].GetInt(), -1) << "the oracle";
  EXPECT_EQ(numbers_in(charts[0]["times"])[19], 19);
  const auto p99 = numbers_in(charts[0]["lines"][1]["values"]);
  EXPECT_EQ(p99[2], 20);
  EXPECT_EQ(p99[3], 123.5);
  EXPECT_EQ(p99[4], std::nullopt) << "a logarithmic scale has no zero";
  EXPECT_STREQ(charts[1]["kind"].GetString(), "errors");
  const auto errors = numbers_in(charts[1]["lines"][1]["values"]);
  EXPECT_EQ(errors[5], 20);
  EXPECT_EQ(errors[6], 0);
  EXPECT_EQ(errors[7], std::nullopt) << "no request";
  EXPECT_EQ(errors[9], 50);
  EXPECT_STREQ(charts[3]["kind"].GetString(), "shares");
  const auto& bands = charts[3]["lines"];
  EXPECT_STREQ(bands[0]["name"].GetString(), "m2") << "changed mirrors first";
  EXPECT_TRUE(bands[0]["changes"].GetBool());
  EXPECT_FALSE(bands[1]["changes"].GetBool());
  const auto shares = numbers_in(bands[0]["values"]);
  EXPECT_EQ(shares[2], 50);
  EXPECT_EQ(shares[3], 33.33);
  EXPECT_EQ(shares[6], 0);
  EXPECT_EQ(charts[3]["most"].GetDouble(), 100);
}

TEST(HtmlReport, JoinsTheIntervalsOfALongSimulation) {
  auto report = stall_report();
  report.results = {charted_result("random", 10ms, 3, 2 * kMostChartPoints + 1)};
  report.results[0].intervals[4].latency.p99 = 70ms;
  const auto charts = charts_of(page_of(report));
  const auto values = numbers_in(charts[0]["lines"][0]["values"]);
  ASSERT_EQ(values.size(), (2 * kMostChartPoints + 1 + 2) / 3);
  EXPECT_EQ(values[0], 10);
  EXPECT_EQ(values[1], 70) << "the highest of its intervals";
  EXPECT_EQ(numbers_in(charts[0]["times"])[1], 3);
  EXPECT_EQ(numbers_in(charts[1]["lines"][0]["values"])[1], 6.667) << "10 of 150";
}

TEST(HtmlReport, ChartsAsLongAsTheLongestResult) {
  auto report = stall_report();
  report.results[0].intervals.resize(7);
  const auto charts = charts_of(page_of(report));
  EXPECT_EQ(charts[0]["times"].Size(), 20U);
  EXPECT_EQ(charts[0]["lines"][0]["values"].Size(), 7U);
  EXPECT_EQ(charts[2]["times"].Size(), 7U);
}

TEST(HtmlReport, MarksTheBestOfAColumnButNotTheOracle) {
  const auto page = page_of(stall_report());
  EXPECT_EQ(count_of_text(page, "class=\"best\""), 1U) << "all other values are equal";
  EXPECT_TRUE(page.contains("<span class=\"hidden\">best: </span>20.0"));
}

TEST(HtmlReport, MarksAllThatAreEqual) {
  auto report = stall_report();
  report.results.insert(report.results.begin(), charted_result("nodeads", 20ms));
  EXPECT_EQ(count_of_text(page_of(report), "class=\"best\""), 2U);
}

TEST(HtmlReport, SaysWhatIsUnknown) {
  auto report = stall_report();
  EXPECT_TRUE(page_of(report).contains("<td>never</td>"));
  report.scenario.changes.clear();
  EXPECT_FALSE(page_of(report).contains("<td>never</td>"));
  report.results.resize(1);
  report.results[0].answered = 0;
  report.results[0].regret = 0;
  const auto page = page_of(report);
  EXPECT_FALSE(page.contains("Lowest p99"));
  EXPECT_EQ(count_of_text(page, "<td>\u2013</td>"), 8U);
}

TEST(HtmlReport, SaysThatNoRequestFailed) {
  auto report = stall_report();
  for (auto& result : report.results) result.errors = 0;
  const auto page = page_of(report);
  EXPECT_TRUE(page.contains("No request failed with any strategy"));
  EXPECT_EQ(count_of_text(page, "class=\"large\""), 1U);
}

TEST(HtmlReport, ComparesScenarios) {
  EXPECT_FALSE(page_of(stall_report()).contains("href="));
  auto other = stall_report();
  other.scenario.name = "overload";
  other.results.erase(other.results.begin());
  const auto page = page_of_two(stall_report(), other);
  EXPECT_TRUE(page.contains("<a href=\"#scenario-2\">overload</a>"));
  EXPECT_TRUE(page.contains("<th scope=\"row\">random</th><td>50.0</td><td>\u2013</td>"));
}

TEST(HtmlReport, DoesWithoutInput) {
  const auto report_of = [](std::vector<Result> results) {
    Report report;
    report.scenario.name = "x";
    report.results = std::move(results);
    return std::vector{report};
  };
  const std::vector<Report> inputs[] = {
      {},
      std::vector{Report()},
      report_of({{}}),
      report_of({charted_result("random", 0us, 0, 1)}),
      report_of({charted_result("random", 1us, 3, 0)}),
      report_of({charted_result("random", 1us, 3, 1)}),
  };
  for (const auto& reports : inputs) {
    const auto page = html_report(reports, 1);
    EXPECT_EQ(markup_problem(without_scripts(page)), "");
    for (const auto& chart : charts_of(page).GetArray())
      EXPECT_EQ(chart["times"].Size(), chart["lines"][0]["values"].Size());
  }
  EXPECT_TRUE(html_report({}, 1).contains("No scenario was simulated"));
}

TEST(HtmlReport, ShowsTheChangedMirrorsOfMany) {
  auto report = stall_report();
  report.results = {charted_result("random", 1ms, 64)};
  report.scenario.mirrors = 64;
  auto page = page_of(report);
  EXPECT_TRUE(page.contains("The charts show 1 of 64 mirrors: those that change."));
  const auto of_one = charts_of(page);
  EXPECT_EQ(of_one[2]["lines"].Size(), 1U);
  EXPECT_EQ(of_one[2]["most"].GetDouble(), 1.562) << "one of 64, in per cent";
  report.scenario.changes.clear();
  page = page_of(report);
  EXPECT_TRUE(page.contains("The charts show 8 of 64 mirrors: the first ones."));
  EXPECT_EQ(charts_of(page)[2]["lines"].Size(), kMostBands);
  for (int i = 1; i <= 64; ++i)
    report.scenario.changes.push_back(change_at(i * 100ms, fmt::format("m{} down", i)));
  page = page_of(report);
  EXPECT_EQ(charts_of(page)[2]["lines"].Size(), kMostBands);
  EXPECT_EQ(markup_problem(without_scripts(page)), "");
}

TEST(HtmlReport, StaysSmallForALongSimulationOfManyStrategies) {
  auto report = stall_report();
  report.results.clear();
  for (int i = 0; i < 40; ++i)
    report.results.push_back(charted_result(fmt::format("strategy {}", i), 10ms, 64, 5000));
  const auto page = page_of(report);
  EXPECT_LT(page.size(), 2U << 20);
  EXPECT_EQ(count_of_text(page, "class=\"small\""), kMostTrafficCharts);
  EXPECT_TRUE(page.contains("The charts of all strategies show the first 11, and the last."));
  EXPECT_EQ(count_of_text(page, "<th scope=\"row\">"), 40U) << "the table has all";
}

}  // namespace
}  // namespace karmad::simulate
