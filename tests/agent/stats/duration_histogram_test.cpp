#include "agent/stats/histogram.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace karmad {
namespace {

using namespace std::chrono_literals;

static_assert(std::ranges::is_sorted(kDurationBounds, std::ranges::less_equal{}));
static_assert(kDurationBounds.front() == 500us && kDurationBounds.back() == 30s);

TEST(DurationHistogram, ABucketHasItsUpperBound) {
  EXPECT_EQ(duration_bucket(-1us), 0U);
  EXPECT_EQ(duration_bucket(0us), 0U);
  for (std::size_t i = 0; i < kDurationBounds.size(); ++i) {
    EXPECT_EQ(duration_bucket(kDurationBounds[i]), i);
    EXPECT_EQ(duration_bucket(kDurationBounds[i] + 1us), i + 1);
  }
  EXPECT_EQ(duration_bucket(1h), kDurationBounds.size());
}

TEST(DurationHistogram, SumsOverItsWriters) {
  OwnedDurations first;
  OwnedDurations second;
  first.add(1ms);
  first.add(40s);
  second.add(1ms);
  Durations sum;
  first.add_to(sum);
  second.add_to(sum);
  EXPECT_EQ(sum.counts[duration_bucket(1ms)], 2U);
  EXPECT_EQ(sum.counts.back(), 1U);
  EXPECT_EQ(std::accumulate(sum.counts.begin(), sum.counts.end(), 0U), 3U);
  EXPECT_EQ(sum.sum, 40'002ms);
}

}  // namespace
}  // namespace karmad
