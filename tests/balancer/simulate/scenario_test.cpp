#include "balancer/simulate/scenario/scenario.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace karmad::simulate {
namespace {

using namespace std::chrono_literals;

std::vector<std::string> problem_lines(const Problems& problems) {
  std::vector<std::string> lines;
  for (const auto& problem : problems) lines.push_back(text(problem));
  return lines;
}
using Lines = std::vector<std::string>;

Scenario read_scenario(std::string_view text) {
  auto scenario = parse_scenario(text, "x.scn", "x");
  EXPECT_TRUE(scenario) << (scenario ? "" : problem_lines(scenario.error())[0]);
  return scenario.value_or(Scenario{});
}
Lines errors_of(std::string_view text) {
  const auto scenario = parse_scenario(text, "x.scn", "x");
  return scenario ? Lines{} : problem_lines(scenario.error());
}
std::string first_error(std::string_view text) {
  const auto errors = errors_of(text);
  return errors.empty() ? "" : errors[0];
}

TEST(SimulationScenario, ReadsEveryStatement) {
  const auto scenario = read_scenario(
      "# a comment\n"
      "about two words  # and a comment\n"
      "mirrors 6\nmasters 3\nrate 1e3\nduration 4.5\nwarmup 0\nslo 50\ntimeout 900\n"
      "profile svc=exp:5 k=8\n"
      "mirror m2 weight=2 k=4\n"
      "set hedge = p95\n"
      "at 3 m2-m4 slow=10 err=0.5\n"
      "at 1.5 all net=1\n"
      "rate_at 2 500\n");
  EXPECT_EQ(scenario.about, "two words");
  EXPECT_EQ(scenario.mirrors, 6U);
  EXPECT_EQ(scenario.masters, 3U);
  EXPECT_EQ(scenario.rate, 1000);
  EXPECT_EQ(scenario.duration, 4.5);
  EXPECT_EQ(scenario.warmup, 0);
  EXPECT_EQ(scenario.slo, 50);
  EXPECT_EQ(scenario.timeout, 900);
  EXPECT_EQ(scenario.profile, (Assignments{{"svc", "exp:5"}, {"k", "8"}}));
  ASSERT_EQ(scenario.mirror_statements.size(), 1U);
  EXPECT_EQ(scenario.mirror_statements[0].weight, 2U);
  EXPECT_EQ(scenario.mirror_statements[0].profile, (Assignments{{"k", "4"}}));
  ASSERT_EQ(scenario.settings.size(), 1U);
  EXPECT_EQ(scenario.settings[0].text, "hedge = p95");
  ASSERT_EQ(scenario.changes.size(), 2U);
  EXPECT_EQ(scenario.changes[0].time, 1500ms) << "changes are in order of time";
  EXPECT_TRUE(scenario.changes[0].mirrors.is_all());
  EXPECT_EQ(scenario.changes[1].text, "m2-m4 slow=10 err=0.5");
  EXPECT_EQ(scenario.changes[1].mirrors, (MirrorRange{2, 4}));
  ASSERT_EQ(scenario.rate_changes.size(), 1U);
  EXPECT_EQ(scenario.rate_changes[0].rate, 500);
}

TEST(SimulationScenario, SaysWhereAndWhatIsWrong) {
  EXPECT_EQ(
      first_error("mirors 4\n"),
      "x.scn:1:1: unknown statement 'mirors'; did you mean 'mirrors'?; known: about, mirrors, "
      "masters, rate, duration, warmup, slo, timeout, profile, mirror, at, rate_at, set");
  EXPECT_EQ(first_error("\n  mirrors 0\n"),
            "x.scn:2:11: expected a whole number from 1 to 1000 after mirrors");
  EXPECT_EQ(first_error("mirrors 1001"),
            "x.scn:1:9: expected a whole number from 1 to 1000 after mirrors");
  EXPECT_EQ(first_error("mirrors 4 5"),
            "x.scn:1:11: expected a whole number from 1 to 1000 after mirrors");
  EXPECT_EQ(first_error("rate nan"),
            "x.scn:1:6: expected a number from 0.001 to 100000000 after "
            "rate");
  EXPECT_EQ(first_error("duration -1"),
            "x.scn:1:10: expected a number from 0.1 to 86400 after duration");
  EXPECT_EQ(first_error("profile slo=1"),
            "x.scn:1:9: unknown key 'slo'; did you mean 'slow'?; known: svc, slow, k, queue, rate, "
            "over, retry_after, err, errcode, errms, rst, stall, mode, health, load, cold, net");
  EXPECT_EQ(first_error("profile slow"), "x.scn:1:9: expected key=value, not 'slow'");
  EXPECT_EQ(first_error("profile"), "x.scn:1:1: expected profile KEY=VALUE …");
  EXPECT_EQ(first_error("at x m2 slow=1"), "x.scn:1:4: expected seconds from 0 to 86400");
  EXPECT_EQ(first_error("at 1 2 slow=1"),
            "x.scn:1:6: expected mirrors, such as m2, m2-m5 or all, not '2'");
  EXPECT_EQ(first_error("at 1 m4-m2 slow=1"),
            "x.scn:1:6: expected mirrors, such as m2, m2-m5 or all, not 'm4-m2'");
  EXPECT_EQ(first_error("at 1 m2 weight=3"),
            "x.scn:1:9: unknown key 'weight'; known: svc, slow, k, queue, rate, over, retry_after, "
            "err, errcode, errms, rst, stall, mode, health, load, cold, net");
  EXPECT_EQ(first_error("mirror m2 weight=0"),
            "x.scn:1:11: weight: expected a whole number from 1 to 1000");
  EXPECT_EQ(first_error("rate_at 1"), "x.scn:1:9: expected rate_at SECONDS RATE");
  EXPECT_EQ(first_error("set hedge"), "x.scn:1:1: expected set KEY = VALUE, with a key of searchd");
  EXPECT_EQ(errors_of("x\ny\n").size(), 2U) << "all problems are reported";
}

TEST(SimulationScenario, ChecksTheValuesOfProfiles) {
  struct {
    const char* assignment;
    const char* error;
  } const cases[] = {
      {"svc=exp",
       "svc: expected none, fixed:MS, exp:MEAN_MS, lognormal:MEDIAN_MS:SIGMA or "
       "two:MS:OTHER_MS:PART"},
      {"svc=exp:inf",
       "svc: expected none, fixed:MS, exp:MEAN_MS, lognormal:MEDIAN_MS:SIGMA or "
       "two:MS:OTHER_MS:PART"},
      {"svc=fixed:1:2",
       "svc: expected none, fixed:MS, exp:MEAN_MS, lognormal:MEDIAN_MS:SIGMA or "
       "two:MS:OTHER_MS:PART"},
      {"slow=0", "slow: expected a number from 0.001 to 1000000"},
      {"k=-1", "k: expected a whole number from 0 to 100000"},
      {"err=2", "err: expected a number from 0 to 1"},
      {"over=200", "over: expected a whole number from 400 to 599"},
      {"stall=100:200", "stall: expected off, or EVERY_MS:PAUSE_MS"},
      {"mode=reset", "mode: expected ok, refuse, blackhole or freeze"},
      {"health=yes", "health: expected ok or follow"},
      {"cold=8", "cold: expected FACTOR:REQUESTS, such as 8:2000"},
      {"net=", "net: expected a number from 0 to 60000"},
  };
  for (const auto& [assignment, error] : cases)
    EXPECT_EQ(first_error(std::string("profile ") + assignment),
              std::string("x.scn:1:9: ") + error);
}

TEST(SimulationScenario, OverridesReplaceValuesAndScaleChangesOfTheRate) {
  const auto scenario = read_scenario("rate 1000\nrate_at 1 500\n");
  const auto changed = with_overrides(
      scenario, {.rate = 2000, .duration = 3, .mirrors = 7, .masters = 2, .settings = {"a = b"}});
  ASSERT_TRUE(changed);
  EXPECT_EQ(changed->rate, 2000);
  EXPECT_EQ(changed->rate_changes[0].rate, 1000);
  EXPECT_EQ(changed->duration, 3);
  EXPECT_EQ(changed->mirrors, 7U);
  EXPECT_EQ(changed->masters, 2U);
  EXPECT_EQ(changed->settings[0].text, "a = b");
}

TEST(SimulationScenario, RefusesMissingMirrorsAndTooManyRequests) {
  const auto few = with_overrides(read_scenario("at 1 m2-m4 slow=1\n"), {.mirrors = 3});
  ASSERT_FALSE(few);
  EXPECT_EQ(problem_lines(few.error()),
            Lines{"x.scn:1:6: there is no mirror m4: the simulation has 3"});
  const auto many = with_overrides(read_scenario("rate 1e8\nduration 10\n"), {});
  ASSERT_FALSE(many);
  EXPECT_EQ(problem_lines(many.error()),
            Lines{"1200000000 requests are too many: rate × (duration + warmup) may be at most "
                  "1000000000"});
}

TEST(SimulationScenario, TheLibraryIsReadable) {
  const auto& library = scenario_library();
  EXPECT_GE(library.size(), 19U);
  for (const auto& scenario : library) {
    EXPECT_FALSE(scenario.about.empty()) << scenario.name;
    EXPECT_TRUE(with_overrides(scenario, {})) << scenario.name;
    EXPECT_EQ(library_scenario(scenario.name), &scenario);
  }
  EXPECT_EQ(library_scenario("none"), nullptr);
}

}  // namespace
}  // namespace karmad::simulate
