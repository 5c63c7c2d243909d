#include "balancer/rules/hedge_plan.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace karmad {
namespace {

using namespace std::chrono_literals;
using Kind = HedgeSetting::Kind;

constexpr HedgeRules kRules{.threshold = 100ms, .step = 50ms, .extra = 2};  // CO-080, 3 mirrors
constexpr HedgeSetting kAfter50{.kind = Kind::after, .after = 50ms};
constexpr HedgeSetting kP95{.kind = Kind::p95};

TimePoint hedge_at(Micros time) {
  return TimePoint{1h + time};
}

RaceEnd status(unsigned code, unsigned sub_status = 0) {
  return is_final_status(code, sub_status) ? RaceEnd::final : RaceEnd::not_final;
}

struct HedgeAnswer {
  std::size_t by;  // the number of the attempt: A, B, C are asked in this order
  Micros after;    // since the request began; in the order of their times
  RaceEnd end;
};

struct Race {
  std::vector<Micros> sent;  // when, since the request began
  std::optional<std::size_t> winner;
  bool over = false;
};

/// Runs the race until it is over or `until`; an attempt that was not sent by then says nothing.
Race run(const std::vector<HedgeAnswer>& answers, Micros until = 1s,
         std::optional<HedgeRules> rules = kRules) {
  HedgePlan plan{rules};
  Race race;
  const auto send = [&](TimePoint now) {
    plan.sent(now);
    race.sent.push_back(now - hedge_at(0ms));
  };
  const auto send_until = [&](TimePoint now) {
    while (!plan.is_over() && plan.next_at() && *plan.next_at() <= now) send(*plan.next_at());
  };
  send(hedge_at(0ms));
  for (const auto& answer : answers) {
    send_until(hedge_at(answer.after));
    plan.ended(answer.by, answer.end, hedge_at(answer.after));
  }
  send_until(hedge_at(until));
  race.winner = plan.winner();
  race.over = plan.is_over();
  return race;
}

using Times = std::vector<Micros>;

TEST(HedgePlan, AsksOneMirrorWhenTheFirstAnswersInTime) {  // CO-080
  const auto race = run({{0, 80ms, status(200)}});
  EXPECT_EQ(race.sent, Times{0ms});
  EXPECT_EQ(race.winner, 0U);
  EXPECT_TRUE(race.over);
}

TEST(HedgePlan, TakesTheHedgeThatAnswersWhileTheFirstIsSilent) {  // CO-080
  const auto race = run({{1, 130ms, status(200)}});
  EXPECT_EQ(race.sent, (Times{0ms, 100ms}));
  EXPECT_EQ(race.winner, 1U);
  EXPECT_TRUE(race.over);
}

TEST(HedgePlan, AsksTheNextAtOnceAfterAnAnswerThatIsNotFinal) {  // CO-081
  const auto race = run({{0, 30ms, status(503)}});
  EXPECT_EQ(race.sent, (Times{0ms, 30ms, 80ms}));
  EXPECT_FALSE(race.over) << "B and C are out";
  EXPECT_EQ(run({{0, 20ms, status(404, 1002)}}, 20ms).sent, (Times{0ms, 20ms}));
}

TEST(HedgePlan, TakesTheLastAnswerReceivedWhenNoneIsFinal) {  // CO-082
  const auto race =
      run({{2, 190ms, status(503)}, {0, 200ms, status(503)}, {1, 210ms, status(503)}});
  EXPECT_EQ(race.sent, (Times{0ms, 100ms, 150ms}));
  EXPECT_EQ(race.winner, 1U);
  EXPECT_TRUE(race.over);
}

TEST(HedgePlan, TakesA404WithoutASubStatusAsFinal) {  // CO-080
  const auto race = run({{0, 90ms, status(404, 0)}});
  EXPECT_EQ(race.sent, Times{0ms});
  EXPECT_EQ(race.winner, 0U);
}

TEST(HedgePlan, PrefersAnAnswerToNoAnswerHoweverLate) {  // CO-082
  EXPECT_EQ(
      run({{0, 10ms, RaceEnd::not_final}, {1, 20ms, RaceEnd::nothing}, {2, 30ms, RaceEnd::nothing}})
          .winner,
      0U);
  EXPECT_EQ(
      run({{0, 10ms, RaceEnd::nothing}, {1, 20ms, RaceEnd::not_final}, {2, 30ms, RaceEnd::nothing}})
          .winner,
      1U);
  const auto unanswered =
      run({{0, 10ms, RaceEnd::nothing}, {1, 20ms, RaceEnd::nothing}, {2, 30ms, RaceEnd::nothing}});
  EXPECT_EQ(unanswered.winner, 2U) << "the last error, when there is no answer at all";
  EXPECT_TRUE(unanswered.over);
}

TEST(HedgePlan, KeepsTheFirstFinalAnswerWhateverComesAfterIt) {
  const auto race = run({{1, 130ms, RaceEnd::final},
                         {0, 130ms, RaceEnd::final},
                         {1, 131ms, RaceEnd::not_final},
                         {7, 132ms, RaceEnd::final}});
  EXPECT_EQ(race.winner, 1U);
  EXPECT_EQ(race.sent.size(), 2U);
}

TEST(HedgePlan, CountsAnAttemptOnce) {
  const auto race = run({{0, 10ms, RaceEnd::nothing}, {0, 11ms, RaceEnd::final}}, 12ms);
  EXPECT_FALSE(race.over);
}

TEST(HedgePlan, IsARaceOfOneWithoutRules) {
  const auto race = run({{0, 900ms, RaceEnd::nothing}}, 1s, std::nullopt);
  EXPECT_EQ(race.sent, Times{0ms});
  EXPECT_EQ(race.winner, 0U);
  EXPECT_TRUE(race.over);
}

TEST(HedgePlan, WaitsForRunningAttemptsWhenNoMoreMayStart) {
  HedgePlan plan{kRules};
  plan.sent(hedge_at(0ms));
  plan.sent(hedge_at(100ms));
  plan.no_more();
  EXPECT_FALSE(plan.next_at());
  plan.ended(0, RaceEnd::not_final, hedge_at(110ms));
  EXPECT_FALSE(plan.next_at());
  EXPECT_FALSE(plan.is_over());
  EXPECT_TRUE(plan.is_out(1));
  plan.ended(1, RaceEnd::nothing, hedge_at(120ms));
  EXPECT_TRUE(plan.is_over());
  EXPECT_EQ(plan.winner(), 0U);
}

TEST(HedgePlan, SendsNoMoreThanItMay) {
  EXPECT_EQ(run({}, 1h).sent, (Times{0ms, 100ms, 150ms}));
  EXPECT_EQ(run({}, 1h, HedgeRules{1ms, 1ms, kMostHedges}).sent.size(), kMostHedges + 1);
}

TEST(RaceEnd, KnowsWhichStatusIsFinal) {  // CO-081
  for (const unsigned code : {200U, 204U, 304U, 399U, 400U, 401U, 404U, 405U, 409U, 412U, 413U})
    EXPECT_TRUE(is_final_status(code, 0)) << code;
  for (const unsigned code : {402U, 403U, 408U, 410U, 429U, 449U, 500U, 502U, 503U, 504U, 999U})
    EXPECT_FALSE(is_final_status(code, 0)) << code;
  EXPECT_FALSE(is_final_status(404, 1002));
}

TEST(RaceEnd, LetsTheDialectSayWhoseFaultItWas) {  // CO-081
  struct {
    Outcome outcome;
    unsigned status;
    RaceEnd end;
  } const cases[] = {
      {Outcome::answered, 200, RaceEnd::final},
      {Outcome::answered_with_warning, 200, RaceEnd::final},
      {Outcome::client_mistake, 400, RaceEnd::final},
      {Outcome::client_mistake, 403, RaceEnd::not_final},
      {Outcome::client_mistake, 500, RaceEnd::final},  // an engine's way to refuse a bad query
      {Outcome::agent_error, 200, RaceEnd::not_final},
      {Outcome::agent_error, 503, RaceEnd::not_final},
      {Outcome::wrong_reply, 200, RaceEnd::nothing},
      {Outcome::connect_failed, 0, RaceEnd::nothing},
      {Outcome::query_timeout, 0, RaceEnd::nothing},
      {Outcome::cancelled, 0, RaceEnd::nothing},
  };
  for (const auto& c : cases)
    EXPECT_EQ(race_end(c.outcome, c.status, 0), c.end) << name(c.outcome) << ' ' << c.status;
}

TEST(ParseHedge, ReadsWordsAndTimes) {  // CO-080
  EXPECT_EQ(parse_hedge("off"), HedgeSetting{});
  EXPECT_EQ(parse_hedge("P95"), kP95);
  EXPECT_EQ(parse_hedge("p99"), HedgeSetting{.kind = Kind::p99});
  EXPECT_EQ(parse_hedge("50ms"), kAfter50);
  EXPECT_EQ(parse_hedge("50"), kAfter50);
  for (const auto* word : {"off", "p95", "p99", "50ms", "1h"})
    EXPECT_EQ(text(parse_hedge(word).value()), word);
}

TEST(ParseHedge, SaysWhatIsWrong) {
  const std::pair<std::string, std::string> cases[] = {
      {"", "'' is neither off, p95, p99 nor a time such as 50ms"},
      {"p50", "'p50' is neither off, p95, p99 nor a time such as 50ms"},
      {"p95x", "'p95x' is neither off, p95, p99 nor a time such as 50ms"},
      {"-1ms", "'-1ms' is neither off, p95, p99 nor a time such as 50ms"},
      {"off\n", "'off?' is neither off, p95, p99 nor a time such as 50ms"},
      {"0", "it must not be 0; write off for no hedging"},
      {"2h", "it is longer than 1h: 2h"},
  };
  for (const auto& [written, why] : cases) {
    const auto setting = parse_hedge(written);
    ASSERT_FALSE(setting) << written;
    EXPECT_EQ(setting.error(), why);
  }
}

TEST(HedgingInForce, AsksTheOperatorThenRequestPreferenceTableInstance) {  // CO-085
  constexpr HedgeSetting kOff{};
  constexpr HedgeSetting kAfter10{.kind = Kind::after, .after = 10ms};
  struct {
    HedgeWords words;
    HedgeSetting setting;
  } const cases[] = {
      {{}, kOff},
      {{.instance = kP95}, kP95},
      {{.table = kOff, .instance = kP95}, kOff},
      {{.table = kAfter50}, kAfter50},
      {{.preference = false, .table = kAfter50, .instance = kP95}, kOff},
      {{.preference = true, .table = kAfter50, .instance = kP95}, kAfter50},
      {{.preference = true, .table = kOff, .instance = kP95}, kP95},
      {{.request = kAfter10, .preference = false, .table = kOff}, kAfter10},
      {{.request = kOff, .preference = true, .table = kAfter50}, kOff},
      {{.disabled = true, .request = kAfter10, .preference = true, .table = kAfter50}, kOff},
  };
  for (const auto& c : cases)
    EXPECT_EQ(hedging_in_force(c.words, 10s).setting, c.setting) << text(c.setting);
}

TEST(HedgingInForce, HasDefaultsForAPreferenceThatAsksForIt) {  // CO-085, SS-070
  const HedgeWords asked{.preference = true};
  const auto after = [](Micros threshold, Micros step) {
    return Hedging{{.kind = Kind::after, .after = threshold}, step};
  };
  EXPECT_EQ(hedging_in_force(asked, 10s), after(1s, 500ms));
  EXPECT_EQ(hedging_in_force(asked, 300ms), after(150ms, 500ms));
  EXPECT_EQ(hedging_in_force(asked, 0s), after(1us, 500ms));
  EXPECT_EQ(hedging_in_force({.preference = true, .step = 20ms}, 10s), after(1s, 20ms));
}

HedgeChance chance(HedgeSetting setting = kAfter50) {
  HedgeChance chance;
  chance.hedging.setting = setting;
  chance.mirrors = 3;
  return chance;
}

TEST(HedgeRules, StepAsLongAsTheThresholdUnlessSaid) {  // CO-080
  auto given = chance();
  EXPECT_EQ(hedge_rules(given)->step, 50ms);
  given.hedging.step = 20ms;
  EXPECT_EQ(hedge_rules(given)->step, 20ms);
  EXPECT_EQ(hedge_rules(given)->threshold, 50ms);
  EXPECT_EQ(hedge_rules(given)->extra, 1U);
}

TEST(HedgeRules, AskNoMoreThanTheOtherMirrors) {  // CO-080: at least two are needed
  auto given = chance();
  given.max = 8;
  EXPECT_EQ(hedge_rules(given)->extra, 2U);
  given.mirrors = 64;
  EXPECT_EQ(hedge_rules(given)->extra, kMostHedges);
  given.max = 100;
  EXPECT_EQ(hedge_rules(given)->extra, kMostHedges);
  for (const std::size_t mirrors : {0U, 1U}) {
    given.mirrors = mirrors;
    EXPECT_FALSE(hedge_rules(given));
  }
}

TEST(HedgeRules, NeedEnoughAnswersForAMeasuredThreshold) {
  auto given = chance(kP95);
  EXPECT_FALSE(hedge_rules(given));
  given.measured = {.samples = kEnoughSamples - 1, .p95 = 7ms, .p99 = 9ms};
  EXPECT_FALSE(hedge_rules(given));
  given.measured.samples = kEnoughSamples;
  EXPECT_EQ(hedge_rules(given)->threshold, 7ms);
  given.hedging.setting.kind = Kind::p99;
  EXPECT_EQ(hedge_rules(given)->threshold, 9ms);
}

TEST(HedgeRules, AreNoneForUpdates) {  // CO-084
  auto given = chance();
  given.read = false;
  EXPECT_FALSE(hedge_rules(given));
  given = chance();
  given.max = 0;
  EXPECT_FALSE(hedge_rules(given));
  EXPECT_FALSE(hedge_rules(chance({})));
}

TEST(HedgeRules, AreNamedAsInTheDiagnostics) {  // CO-086
  EXPECT_EQ(text(HedgeRules{.threshold = 100ms, .step = 50ms}), "t:100ms, s:50ms, w:False");
}

}  // namespace
}  // namespace karmad
