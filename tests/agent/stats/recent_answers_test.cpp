#include "agent/stats/mirror_latency.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace karmad {
namespace {

using namespace std::chrono_literals;

std::vector<RecentAnswer> all_of(const RecentAnswers& answers, TimePoint now, Micros oldest = 24h) {
  std::vector<RecentAnswer> all;
  answers.append(now, oldest, all);
  std::ranges::sort(all, {}, &RecentAnswer::age);
  return all;
}

TEST(RecentAnswers, HaveTheirTimeAndDurationFromAllWorkers) {
  RecentAnswers answers(2);
  const TimePoint t0{1h};
  EXPECT_TRUE(all_of(answers, t0).empty());
  answers.add(0, t0, 3ms);
  answers.add(1, t0 + 1s, 7ms);
  answers.add(1, t0 + 2s, 0us);
  const auto all = all_of(answers, t0 + 3s);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].age, 1s);
  EXPECT_EQ(all[0].took, 1us);
  EXPECT_EQ(all[1].took, 7ms);
  EXPECT_EQ(all[2].age, 3s);
  EXPECT_EQ(all_of(answers, t0 + 3s, 2s).size(), 2U);
}

TEST(RecentAnswers, AreAtMostOneOfEachWorkerInFiftyMilliseconds) {
  RecentAnswers answers(2);
  for (int ms = 0; ms < 1000; ++ms)
    for (unsigned worker = 0; worker < 2; ++worker)
      answers.add(worker, TimePoint{1h} + ms * 1ms, 2ms);
  EXPECT_EQ(all_of(answers, TimePoint{1h} + 1s).size(), 2U * 20);
}

TEST(RecentAnswers, AreTheLastOnes) {
  RecentAnswers answers(1);
  for (int i = 0; i < 1000; ++i) answers.add(0, TimePoint{1h} + i * 1s, i * 1ms);
  const auto all = all_of(answers, TimePoint{1h} + 1000s);
  ASSERT_EQ(all.size(), RecentAnswers::kKept);
  EXPECT_EQ(all.front().took, 999ms);
  EXPECT_EQ(all.back().took, (1000 - static_cast<int>(RecentAnswers::kKept)) * 1ms);
}

TEST(RecentAnswers, KeepTheirTimeWhenTheCountOfMillisecondsWraps) {
  RecentAnswers answers(1);
  const TimePoint wraps{(std::int64_t{1} << 32) * 1ms};
  answers.add(0, wraps - 1s, 3ms);
  answers.add(0, wraps + 1s, 4ms);
  const auto all = all_of(answers, wraps + 2s);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[1].age, 3s);
  answers.add(0, wraps + 5s, 2h);
  EXPECT_EQ(all_of(answers, wraps + 5s).front().took, 4000s) << "the longest that is kept";
}

TEST(RecentAnswers, OfAClockThatIsALittleAheadAreNew) {
  RecentAnswers answers(1);
  answers.add(0, TimePoint{1h} + 3ms, 1ms);
  const auto all = all_of(answers, TimePoint{1h});
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].age, 0s);
}

}  // namespace
}  // namespace karmad
