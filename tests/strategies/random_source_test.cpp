#include "strategies/random_source.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

namespace karmad {
namespace {

TEST(SeededRandom, RepeatsItselfForTheSameSeedOnly) {
  SeededRandom one(42);
  SeededRandom same(42);
  SeededRandom other(43);
  bool differs = false;
  for (int i = 0; i < 100; ++i) {
    const auto drawn = one.below(1'000'000);
    EXPECT_EQ(drawn, same.below(1'000'000));
    differs |= drawn != other.below(1'000'000);
  }
  EXPECT_TRUE(differs);
}

TEST(SeededRandom, DrawsEveryNumberBelowNAboutEquallyOften) {
  for (const std::size_t n : {1U, 2U, 3U, 7U, 64U}) {
    SeededRandom random(n);
    std::array<int, 64> seen{};
    const int draws = 64'000;
    for (int i = 0; i < draws; ++i) {
      const auto drawn = random.below(n);
      ASSERT_LT(drawn, n);
      ++seen[drawn];
    }
    // 6 standard deviations of a binomial count
    const auto expected = draws / static_cast<double>(n);
    for (std::size_t i = 0; i < n; ++i) EXPECT_NEAR(seen[i], expected, 6 * std::sqrt(expected));
  }
}

TEST(SeededRandom, UniformStaysBelowOneAndAveragesAHalf) {
  SeededRandom random(7);
  double total = 0;
  for (int i = 0; i < 100'000; ++i) {
    const auto drawn = random.uniform();
    ASSERT_GE(drawn, 0);
    ASSERT_LT(drawn, 1);
    total += drawn;
  }
  EXPECT_NEAR(total / 100'000, 0.5, 0.006);  // 6 standard deviations of the mean
}

TEST(SeededRandom, DrawsNearTheLargestRangeStayInIt) {
  SeededRandom random(1);
  const auto n = (std::size_t{1} << 63) + 1;  // half of all products are drawn again
  for (int i = 0; i < 1000; ++i) EXPECT_LT(random.below(n), n);
}

}  // namespace
}  // namespace karmad
