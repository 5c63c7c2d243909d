#include "balancer/rules/outlier_ejection.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace karmad {
namespace {

using namespace std::chrono_literals;

/// Without jitter.
class NoJitter final : public RandomSource {
 public:
  std::size_t below(std::size_t) override { return 0; }
  double uniform() override { return 0; }
};

/// A set whose mirrors answer pings; evaluated ten times a second.
class Outliers : public ::testing::Test {
 protected:
  void set(std::size_t mirrors, OutlierRules rules = {}) {
    signs.assign(mirrors, {.duration = 5ms, .pinged = true});
    outliers_.emplace(mirrors, rules);
  }
  Candidates evaluate() {
    now += 100ms;
    for (auto& mirror : signs)
      if (answers_pings) mirror.last_reply = now;
    return outliers_->evaluate(now, signs, random_);
  }
  /// The mirrors admitted meanwhile.
  Candidates pass(Micros time) {
    Candidates admitted;
    for (const auto end = now + time; now < end;) admitted = admitted | evaluate();
    return admitted;
  }
  Candidates avoided() const { return outliers_->avoided(); }
  static Candidates only(std::size_t mirror) {
    Candidates one;
    one.insert(mirror);
    return one;
  }

  TimePoint now{1000s};
  std::vector<OutlierSigns> signs;
  bool answers_pings = true;
  std::optional<OutlierEjection> outliers_;

 private:
  NoJitter random_;
};

TEST_F(Outliers, FailuresInARowEjectAMirror) {
  set(3);
  signs[1].failures_in_a_row = 4;
  evaluate();
  EXPECT_EQ(avoided(), Candidates());
  signs[1].failures_in_a_row = 5;
  evaluate();
  EXPECT_EQ(avoided(), only(1));
  EXPECT_EQ(outliers_->of(1).reason, "5 failures in a row");
}

TEST_F(Outliers, TheShareOfFailuresIsJudgedAfterTwentyAttempts) {
  set(4);
  evaluate();
  signs[2].attempts = 19;
  signs[2].failures = 19;
  evaluate();
  EXPECT_EQ(avoided(), Candidates());
  signs[2].attempts = 40;
  signs[2].failures = 20;
  evaluate();
  EXPECT_EQ(avoided(), only(2));
  EXPECT_EQ(outliers_->of(2).reason, "20 of 40 attempts failed");
}

TEST_F(Outliers, OldFailuresDoNotCountForEver) {
  set(4);
  signs[2].attempts = signs[2].failures = 15;
  pass(31s);
  signs[2].attempts = 40;
  evaluate();
  EXPECT_EQ(avoided(), Candidates());
}

TEST_F(Outliers, AMirrorMuchSlowerThanItsSetForASecondIsEjected) {
  set(3);
  signs[0].duration = 50ms;
  pass(900ms);
  EXPECT_EQ(avoided(), Candidates());
  pass(300ms);
  EXPECT_EQ(avoided(), only(0));
  EXPECT_EQ(outliers_->of(0).reason, "searches take 50.0 ms, at other mirrors 5.0 ms");
}

TEST_F(Outliers, SmallDifferencesEjectNone) {
  set(3);
  signs[0].duration = 14ms;  // less than three times the median
  pass(5s);
  EXPECT_EQ(avoided(), Candidates());
  for (auto& mirror : signs) mirror.duration = 100us;
  signs[0].duration = 4ms;  // forty times the others, but less than 5 ms longer
  pass(5s);
  EXPECT_EQ(avoided(), Candidates());
}

TEST_F(Outliers, AWholeNumberOfMirrorsIsEjectedAndOneStays) {
  struct Row {
    std::size_t mirrors;
    unsigned percent;
    std::size_t most;
  };
  for (const auto& [mirrors, percent, most] : {Row{1, 100, 0},
                                               {2, 50, 1},
                                               {2, 100, 1},
                                               {2, 49, 0},
                                               {3, 50, 1},
                                               {3, 34, 1},
                                               {3, 33, 0},
                                               {3, 100, 2},
                                               {4, 50, 2},
                                               {64, 10, 6}}) {
    EXPECT_EQ(most_ejected(mirrors, percent), most) << mirrors << ' ' << percent;
    set(mirrors, {.most_percent = percent, .panic_percent = 0});
    for (auto& mirror : signs) mirror.failures_in_a_row = 100;
    evaluate();
    EXPECT_EQ(avoided().size(), most) << mirrors << ' ' << percent;
  }
}

TEST_F(Outliers, IsAdmittedAgainAfterItsTimeAndAnAnsweredPing) {
  set(3);
  signs[1].failures_in_a_row = 5;
  evaluate();
  signs[1].failures_in_a_row = 0;
  answers_pings = false;
  EXPECT_EQ(pass(12s), Candidates());
  EXPECT_EQ(avoided(), only(1)) << "no ping was answered since";
  answers_pings = true;
  EXPECT_EQ(evaluate(), only(1)) << "it starts slowly";
  EXPECT_EQ(avoided(), Candidates());
}

TEST_F(Outliers, WithoutPingsTheTimeIsEnough) {
  set(3);
  for (auto& mirror : signs) mirror.pinged = false;
  answers_pings = false;
  signs[1].failures_in_a_row = 5;
  evaluate();
  signs[1].failures_in_a_row = 0;
  EXPECT_EQ(pass(9900ms), Candidates());
  EXPECT_EQ(pass(200ms), only(1));
}

TEST_F(Outliers, EveryFurtherEjectionLastsLonger) {
  set(3);
  for (const auto time : {10s, 20s, 30s}) {
    signs[1].failures_in_a_row = 5;
    evaluate();
    const auto ejected_at = now;
    EXPECT_EQ(outliers_->of(1).until - ejected_at, time);
    signs[1].failures_in_a_row = 0;
    pass(time);
  }
  EXPECT_EQ(outliers_->ejections(), 3U);
}

TEST_F(Outliers, LongGoodWorkIsRewarded) {
  set(3);
  signs[1].failures_in_a_row = 5;
  evaluate();
  signs[1].failures_in_a_row = 0;
  pass(10s);
  EXPECT_EQ(outliers_->of(1).times, 1U);
  pass(11s);
  EXPECT_EQ(outliers_->of(1).times, 0U);
}

TEST_F(Outliers, IfTooFewMirrorsAreLeftEjectionsDoNotCount) {
  set(4);
  signs[0].failures_in_a_row = signs[1].failures_in_a_row = 9;
  evaluate();
  EXPECT_EQ(avoided().size(), 2U);
  EXPECT_FALSE(outliers_->panic());
  signs[2].usable = false;  // it died
  evaluate();
  EXPECT_TRUE(outliers_->panic());
  EXPECT_EQ(avoided(), Candidates());
  EXPECT_EQ(outliers_->ejected().size(), 2U) << "they stay ejected";
  signs[2].usable = true;
  evaluate();
  EXPECT_FALSE(outliers_->panic());
  EXPECT_EQ(outliers_->panics(), 1U);
}

TEST_F(Outliers, OneOfTwoMirrorsIsNoPanic) {
  set(2);
  signs[0].failures_in_a_row = 9;
  evaluate();
  EXPECT_EQ(avoided(), only(0));
  EXPECT_FALSE(outliers_->panic());
}

TEST_F(Outliers, RulesCanBeSwitchedOffEach) {
  set(3, {.by_failures = false});
  signs[1].failures_in_a_row = 50;
  evaluate();
  EXPECT_EQ(avoided(), Candidates());
  set(3, {.by_latency = false});
  signs[1].duration = 500ms;
  pass(5s);
  EXPECT_EQ(avoided(), Candidates());
}

TEST_F(Outliers, AReloadKeepsThem) {
  set(3);
  signs[1].failures_in_a_row = 5;
  evaluate();
  OutlierEjection next(3, {});
  next.take_over(*outliers_, {1, std::nullopt, 0});
  EXPECT_EQ(next.avoided(), only(0));
  EXPECT_EQ(next.of(0).reason, "5 failures in a row");
}

}  // namespace
}  // namespace karmad
