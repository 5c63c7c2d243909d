// What happens to the shares when mirrors get into trouble: periods told one after the other.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "strategies/estimates/karma_weights.hpp"
#include "strategies/kinds/by_karma.hpp"
#include "tests/strategies/builders.hpp"

namespace karmad {
namespace {

using namespace std::chrono_literals;

/// A mirror set behind `nodeads` under a steady load. In every period each query is picked,
/// answered (or not) in the time `behaves` says, and enters its mirror's mean; then weights are
/// made anew.
class Story {
 public:
  struct Answer {
    Micros time;
    bool failed = false;
  };
  using Behaviour = std::function<Answer(RandomSource&)>;

  explicit Story(bool compound, std::vector<Behaviour> behaviours)
      : behaves(std::move(behaviours)),
        weights(behaves.size(), 1.0 / static_cast<double>(behaves.size())),
        rules_{.compound = compound},
        means_(behaves.size()) {}

  void period(int queries = 1000) {
    struct Sum {
      Micros time{0};
      int count = 0;
    };
    std::vector<Sum> sums(behaves.size());
    asked.assign(behaves.size(), 0);
    std::vector<MirrorView> views;
    for (auto weight : weights) views.push_back({.karma = weight});
    for (int i = 0; i < queries; ++i) {
      const auto mirror = testing::pick_any(views, {}, strategy_, random_);
      const auto answer = behaves[mirror](random_);
      ++asked[mirror];
      ++sums[mirror].count;
      sums[mirror].time +=
          answer.failed ? std::max(answer.time, failure_floor(means_)) : answer.time;
    }
    testing::Means means;
    for (const auto& [time, count] : sums)
      means.push_back(count == 0 ? std::nullopt : std::optional(time / count));
    means_ = means;
    next_weights(weights, means, rules_);
  }

  void periods(int count) {
    for (int i = 0; i < count; ++i) period();
  }

  std::vector<Behaviour> behaves;
  std::vector<double> weights;
  std::vector<int> asked;  ///< in the last period

 private:
  KarmaRules rules_;
  testing::Means means_;
  NoDeads strategy_{1'000'000};  // no mirror ever counts as dead: karma alone has to help
  SeededRandom random_{11};
};

Story::Behaviour answers_in(Micros time) {
  return [time](RandomSource&) { return Story::Answer{time}; };
}
/// Exponentially distributed around `mean`.
Story::Behaviour answers_around(Micros mean) {
  return [mean](RandomSource& random) {
    const auto time = -std::log(1 - random.uniform()) * static_cast<double>(mean.count());
    return Story::Answer{Micros{static_cast<std::int64_t>(time)}};
  };
}
Story::Behaviour accepts_and_never_answers() {
  return [](RandomSource&) { return Story::Answer{3s, true}; };
}
Story::Behaviour refuses_at_once() {
  return [](RandomSource&) { return Story::Answer{50us, true}; };
}

class KarmaStory : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(, KarmaStory, ::testing::Bool(),
                         [](const auto& mode) { return mode.param ? "compound" : "memoryless"; });

// Case 11
TEST_P(KarmaStory, ASilentMirrorLosesItsShareAfterOnePeriod) {
  Story story(GetParam(), {answers_in(10ms), answers_in(10ms), answers_in(10ms)});
  story.period();
  story.behaves[2] = accepts_and_never_answers();
  story.period();
  EXPECT_LT(story.weights[2], 0.004);
  EXPECT_GE(story.weights[2], 0.0033);  // the floor: it still gets a sample now and then
}

TEST_P(KarmaStory, ASilentMirrorDoesNotMoveTheHealthyOnesRelativeToOneAnother) {
  Story story(GetParam(), {answers_in(10ms), answers_in(14ms), answers_in(10ms)});
  Story without(GetParam(), {answers_in(10ms), answers_in(14ms)});
  story.period();
  without.period();
  story.behaves[2] = accepts_and_never_answers();
  for (int period = 0; period < 5; ++period) {
    story.period();
    without.period();
    EXPECT_NEAR(story.weights[0] / story.weights[1], without.weights[0] / without.weights[1], 1e-9);
  }
}

TEST_P(KarmaStory, ARecoveredMirrorHasItsShareBackAfterOnePeriodInWhichItAnswered) {
  Story story(GetParam(), {answers_in(10ms), answers_in(10ms), answers_in(10ms)});
  story.period();
  story.behaves[2] = accepts_and_never_answers();
  story.periods(10);
  EXPECT_LT(story.weights[2], 0.004);

  story.behaves[2] = answers_in(10ms);
  story.period(3000);  // enough queries that the floor's share is certain to be asked
  ASSERT_GT(story.asked[2], 0);
  for (auto weight : story.weights) EXPECT_NEAR(weight, 1.0 / 3, 1e-9);
}

TEST_P(KarmaStory, ARecoveryInTheMiddleOfAPeriodCountsFromTheNext) {
  Story story(GetParam(), {answers_in(10ms), answers_in(10ms), accepts_and_never_answers()});
  story.periods(3);
  int asked = 0;  // the first question in the period still goes unanswered
  story.behaves[2] = [&asked](RandomSource&) {
    return asked++ == 0 ? Story::Answer{3s, true} : Story::Answer{10ms};
  };
  story.period(3000);
  EXPECT_LT(story.weights[2], 0.1);
  story.period(3000);
  EXPECT_NEAR(story.weights[2], 1.0 / 3, 1e-9);
}

TEST_P(KarmaStory, ARecoveredMirrorNeverTakesAllTheTraffic) {
  Story story(GetParam(), {answers_around(10ms), answers_around(10ms), answers_around(10ms)});
  story.behaves[2] = accepts_and_never_answers();
  story.periods(5);
  story.behaves[2] = answers_around(10ms);
  for (int period = 0; period < 5; ++period) {
    story.period(3000);
    EXPECT_LT(story.weights[2], 0.75);
  }
  EXPECT_GT(story.weights[2], 0.1);
}

TEST_P(KarmaStory, ARecoveryUnderLittleTrafficWaitsForASample) {
  Story story(GetParam(), {answers_in(10ms), answers_in(10ms), accepts_and_never_answers()});
  story.periods(2);
  story.behaves[2] = answers_in(10ms);
  int periods = 0;
  do {
    const auto before = story.weights[2];
    story.period(20);
    ++periods;
    if (story.asked[2] == 0) {
      EXPECT_NEAR(story.weights[2], before, 1e-12);
    }
  } while (story.weights[2] < 0.3 && periods < 500);
  // 20 queries × a share of 1/300: a sample every 15 periods on average
  EXPECT_LT(periods, 100);
}

TEST_P(KarmaStory, AStallThatStaysAboveTheFloorIsForgottenToo) {
  Story story(GetParam(), {answers_in(10ms), answers_in(10ms), answers_in(10ms)});
  story.behaves[2] = answers_in(500ms);
  story.period();
  EXPECT_NEAR(story.weights[2], 0.0099, 0.0001);
  story.behaves[2] = answers_in(10ms);
  story.period();
  EXPECT_NEAR(story.weights[2], 1.0 / 3, 1e-9);
}

TEST_P(KarmaStory, AMirrorThatRefusesAtOnceLooksNoFasterThanTheMedian) {
  Story story(GetParam(), {answers_in(10ms), answers_in(20ms), answers_in(30ms)});
  story.period();
  story.behaves[0] = refuses_at_once();
  const auto against_median = [&] { return story.weights[0] / story.weights[1]; };
  for (int period = 0; period < 20; ++period) {
    const auto before = against_median();
    story.period();
    EXPECT_LE(against_median(), before + 1e-9);
  }
}

TEST(KarmaStories, MirrorsAboutEquallyFastAreNeverStarvedByCompounding) {
  Story story(true, {answers_in(10ms), answers_in(11ms)});
  double least = 1;
  double sum = 0;
  constexpr int kPeriods = 200;
  for (int period = 0; period < kPeriods; ++period) {
    story.period();
    least = std::min(least, story.weights[1]);
    sum += story.weights[1];
  }
  EXPECT_GT(least, 0.04);
  EXPECT_GT(sum / kPeriods, 0.15);
}

TEST(KarmaStories, AMirrorFourTimesAsSlowStaysAtTheFloorWhenCompounding) {
  Story story(true, {answers_in(10ms), answers_in(40ms)});
  story.periods(4);
  for (int period = 0; period < 50; ++period) {
    story.period();
    EXPECT_LT(story.weights[1], 0.0051);
  }
}

}  // namespace
}  // namespace karmad
