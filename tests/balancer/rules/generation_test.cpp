#include "balancer/rules/generation.hpp"

#include <gtest/gtest.h>

namespace karmad {
namespace {

using namespace std::chrono_literals;

/// The generations of three mirrors in their pings.
SetView told(const std::vector<Generation>& generations) {
  SetView view;
  for (const auto& generation : generations) {
    view.mirrors.emplace_back();
    view.mirrors.back().description.generation = generation;
  }
  return view;
}

Candidates only_mirror(std::size_t mirror) {
  Candidates one;
  one.insert(mirror);
  return one;
}

TEST(BehindMarks, HoldUntilTheyExpireOrAPingTellsMore) {  // CO-077
  const TimePoint now{1h};
  BehindMarks marks(3);
  EXPECT_TRUE(marks.behind_others(told({{}, {}, {}}), now).empty());
  marks.mark(1, 7, now + 1s);
  EXPECT_EQ(marks.behind_others(told({{}, {}, {}}), now), only_mirror(1));
  EXPECT_EQ(marks.behind_others(told({9, 6, 9}), now), only_mirror(1));
  EXPECT_TRUE(marks.behind_others(told({9, 7, 9}), now).empty());
  EXPECT_TRUE(marks.behind_others(told({{}, {}, {}}), now + 1s).empty());
}

TEST(BehindMarks, DoNotAffectRequestsForAnOlderGeneration) {
  const TimePoint now{1h};
  BehindMarks marks(3);
  marks.mark(1, 7, now + 1s);
  const auto view = told({{}, {}, {}});
  EXPECT_EQ(marks.behind(view, 7, now), only_mirror(1));
  EXPECT_EQ(marks.behind(view, 8, now), only_mirror(1));
  EXPECT_TRUE(marks.behind(view, 6, now).empty());
}

TEST(ToldGenerations, AreTheNewestOfAnswersAndPings) {
  ToldGenerations generations;
  const auto view = told({5, {}, {}});
  EXPECT_EQ(generations.known(0, view), Generation(5));
  EXPECT_EQ(generations.known(1, view), std::nullopt);
  generations.add(0, 4);
  generations.add(1, 3);
  generations.add(1, 6);
  generations.add(2, std::nullopt);
  EXPECT_EQ(generations.known(0, view), Generation(5));
  EXPECT_EQ(generations.known(1, view), Generation(6));
  EXPECT_EQ(generations.known(2, view), std::nullopt);
}

}  // namespace
}  // namespace karmad
