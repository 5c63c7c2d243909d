#include "balancer/simulate/html_report.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "balancer/simulate/report_charts.hpp"

namespace karmad {
namespace {

using namespace std::chrono_literals;

SimulationResult charted_result(std::string strategy, Micros p99, std::size_t mirrors = 3,
                                std::size_t intervals = 20) {
  SimulationResult result{.scenario = "stall",
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
    SimulatedInterval interval{.from = i * 1s, .requests = 50, .errors = i == 5 ? 10U : 0U};
    interval.latency.p99 = p99;
    for (std::size_t m = 0; m < mirrors; ++m)
      interval.mirrors.push_back({.attempts = 10, .share = 1.0 / static_cast<double>(mirrors)});
    result.intervals.push_back(std::move(interval));
  }
  return result;
}

ScenarioReport stall_report() {
  return {.name = "stall",
          .description = "A mirror stalls.",
          .results = {charted_result("random", 50ms), charted_result("leastops", 20ms),
                      charted_result("oracle", 15ms)},
          .changes = {{5s, "m2 slow=10"}, {10s, "m2 slow=1"}},
          .mirrors = {"m1", "m2", "m3"}};
}

std::string page_of(ScenarioReport scenario) {
  return html_report({.title = "report", .scenarios = {std::move(scenario)}});
}

std::size_t count_of_text(std::string_view text, std::string_view wanted) {
  std::size_t count = 0;
  for (auto at = text.find(wanted); at != std::string_view::npos; at = text.find(wanted, at + 1))
    ++count;
  return count;
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
  const auto page = html_report(
      {.title = "two", .description = "seed 1", .scenarios = {stall_report(), stall_report()}});
  EXPECT_TRUE(page.starts_with("<!DOCTYPE html>\n<html "));
  EXPECT_EQ(markup_problem(page), "");
}

TEST(HtmlReport, HasEachIdOnce) {
  const auto page = html_report({.title = "two", .scenarios = {stall_report(), stall_report()}});
  std::set<std::string_view> ids;
  for (auto at = page.find(" id=\""); at != page.npos; at = page.find(" id=\"", at + 1)) {
    const auto id = std::string_view(page).substr(at + 5, page.find('"', at + 5) - at - 5);
    EXPECT_TRUE(ids.insert(id).second) << id;
  }
  EXPECT_TRUE(ids.contains("scenario-2"));
}

TEST(HtmlReport, NeedsNoOtherFileAndNoScript) {
  const auto page = page_of(stall_report());
  for (const auto* text : {"http:", "https:", "//", "<script", "javascript", "@import",
                           " src=", "<link", "<img", " style="})
    EXPECT_FALSE(page.contains(text)) << text;
  EXPECT_TRUE(page.contains("content=\"default-src 'none'; style-src 'sha256-"));
}

TEST(HtmlReport, EscapesEveryText) {
  const std::string hostile = "<script>alert(\"1\")</script>&'\x01\xff";
  auto scenario = stall_report();
  scenario.name = scenario.description = hostile;
  for (auto& name : scenario.mirrors) name = hostile;
  for (auto& result : scenario.results) result.strategy = hostile;
  for (auto& change : scenario.changes) change.text = hostile;
  const auto page =
      html_report({.title = hostile, .description = hostile, .scenarios = {scenario, scenario}});
  EXPECT_EQ(markup_problem(page), "");
  EXPECT_FALSE(page.contains("<script"));
  EXPECT_FALSE(page.contains('\x01'));
  EXPECT_FALSE(page.contains('\xff'));
  EXPECT_TRUE(page.contains("&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;&#39;"));
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
  EXPECT_EQ(count_of_text(page, "<svg viewBox=\"0 0 344"), 5U);
  EXPECT_EQ(count_of_text(page, "<desc>"), 5U);
  EXPECT_EQ(count_of_text(page, "<li>"), 2U);
  EXPECT_EQ(count_of_text(page, "<title>5 s: m2 slow=10</title>"), 5U) << "a mark in each chart";
}

TEST(HtmlReport, MarksTheBestOfAColumnButNotTheOracle) {
  const auto page = page_of(stall_report());
  EXPECT_EQ(count_of_text(page, "class=\"best\""), 1U) << "all other values are equal";
  EXPECT_TRUE(page.contains("<span class=\"hidden\">best: </span>20.0"));
}

TEST(HtmlReport, MarksAllThatAreEqual) {
  auto scenario = stall_report();
  scenario.results.insert(scenario.results.begin(), charted_result("nodeads", 20ms));
  EXPECT_EQ(count_of_text(page_of(scenario), "class=\"best\""), 2U);
}

TEST(HtmlReport, SaysWhatIsUnknown) {
  auto scenario = stall_report();
  EXPECT_TRUE(page_of(scenario).contains("<td>never</td>"));
  scenario.changes.clear();
  EXPECT_FALSE(page_of(scenario).contains("<td>never</td>"));
  scenario.results.resize(1);
  scenario.results[0].answered = 0;
  scenario.results[0].regret = 0;
  const auto page = page_of(scenario);
  EXPECT_FALSE(page.contains("Lowest p99"));
  EXPECT_EQ(count_of_text(page, "<td>\u2013</td>"), 8U);
}

TEST(HtmlReport, SaysThatNoRequestFailed) {
  auto scenario = stall_report();
  for (auto& result : scenario.results) result.errors = 0;
  const auto page = page_of(scenario);
  EXPECT_TRUE(page.contains("No request failed with any strategy"));
  EXPECT_EQ(count_of_text(page, "class=\"large\""), 1U);
}

TEST(HtmlReport, ComparesScenarios) {
  EXPECT_FALSE(page_of(stall_report()).contains("href="));
  auto other = stall_report();
  other.name = "overload";
  other.results.erase(other.results.begin());
  const auto page = html_report({.title = "two", .scenarios = {stall_report(), other}});
  EXPECT_TRUE(page.contains("<a href=\"#scenario-2\">overload</a>"));
  EXPECT_TRUE(page.contains("<th scope=\"row\">random</th><td>50.0</td><td>\u2013</td>"));
}

TEST(HtmlReport, DoesWithoutInput) {
  const HtmlReport reports[] = {
      {},
      {.scenarios = {{}}},
      {.scenarios = {{.name = "x", .results = {{}}}}},
      {.scenarios = {{.name = "x", .results = {charted_result("random", 0us, 0, 1)}}}},
      {.scenarios = {{.name = "x", .results = {charted_result("random", 1us, 3, 0)}}}},
      {.scenarios = {{.name = "x", .results = {charted_result("random", 1us, 3, 1)}}}},
  };
  for (const auto& report : reports) {
    const auto page = html_report(report);
    EXPECT_EQ(markup_problem(page), "");
    EXPECT_FALSE(page.contains("nan") || page.contains("inf\"")) << page;
  }
  EXPECT_TRUE(html_report({}).contains("No scenario was simulated"));
}

TEST(HtmlReport, ShowsTheChangedMirrorsOfMany) {
  auto scenario = stall_report();
  scenario.results = {charted_result("random", 1ms, 64)};
  scenario.mirrors.clear();
  for (int i = 1; i <= 64; ++i) scenario.mirrors.push_back(fmt::format("m{}", i));
  auto page = page_of(scenario);
  EXPECT_TRUE(page.contains("The charts show 1 of 64 mirrors: those that change."));
  EXPECT_EQ(count_of_text(page, "class=\"band"), 1U);
  scenario.changes.clear();
  page = page_of(scenario);
  EXPECT_TRUE(page.contains("The charts show 8 of 64 mirrors: the first ones."));
  EXPECT_EQ(count_of_text(page, "class=\"band"), kMostBands);
  for (int i = 1; i <= 64; ++i) scenario.changes.push_back({i * 100ms, fmt::format("m{} down", i)});
  page = page_of(scenario);
  EXPECT_EQ(count_of_text(page, "class=\"band"), kMostBands);
  EXPECT_EQ(markup_problem(page), "");
}

TEST(HtmlReport, StaysSmallForALongSimulationOfManyStrategies) {
  auto scenario = stall_report();
  scenario.results.clear();
  for (int i = 0; i < 40; ++i)
    scenario.results.push_back(charted_result(fmt::format("strategy {}", i), 10ms, 64, 5000));
  const auto page = page_of(scenario);
  EXPECT_LT(page.size(), 2U << 20);
  EXPECT_EQ(count_of_text(page, "class=\"small\""), kMostTrafficCharts);
  EXPECT_TRUE(page.contains("The charts of all strategies show the first 11, and the last."));
  EXPECT_EQ(count_of_text(page, "<th scope=\"row\">"), 40U) << "the table has all";
}

}  // namespace
}  // namespace karmad
