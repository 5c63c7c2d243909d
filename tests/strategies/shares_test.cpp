#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numeric>

#include "strategies/kinds/registry.hpp"
#include "tests/strategies/builders.hpp"

namespace karmad {
namespace {

using testing::set_of;

struct Set {
  const char* what;
  std::vector<MirrorView> mirrors;
};

std::vector<Set> sets() {
  std::vector<Set> all{
      {"equal", testing::with_karma({1, 1, 1, 1})},
      {"10.1", testing::with_karma({0.15, 0.30, 0.05, 0.50})},
      {"one at the floor", testing::with_karma({0.981343, 0.015333, 0.003323})},
      {"no success yet", testing::with_errors_in_a_row({0, 0, 0, 0, 0})},
      {"weights that are none", testing::with_karma({0, 2, std::nan(""), 1})},
      {"two dead", testing::with_karma({5, 4, 3, 2, 1})},
      {"errors", testing::with_karma({5, 4, 3, 2, 1})},
      {"busy ones and ties", testing::with_in_flight({3, 1, 4, 1, 5, 0, 2, 6})},
      {"sixty-four", {}},
      {"weights", {{.weight = 5}, {.weight = 1}, {.weight = 1}, {.in_flight = 3, .weight = 2}}},
      {"durations", {{.latency = 5}, {.in_flight = 2, .latency = 5}, {.latency = 50}, {}, {}}},
      {"weights of 0", {{.weight = 0}, {.weight = 0}, {.weight = 0}}},
  };
  all[5].mirrors[0].errors_in_a_row = all[5].mirrors[3].errors_in_a_row = 4;
  all[6].mirrors[0].rates = all[6].mirrors[4].rates = error_rates(90, 0, 10);
  for (int i = 0; i < 64; ++i)
    all[8].mirrors.push_back({.in_flight = static_cast<std::uint32_t>(i % 5),
                              .karma = 1.0 + i % 7,
                              .rates = error_rates(1, 0, 0)});
  return all;
}

/// Pearson's statistic for `draws` picks, and how many mirrors can be chosen at all.
struct Fit {
  double chi_square = 0;
  double freedom = -1;
};

Fit fit(const std::array<int, 64>& seen, const Shares& shares, int draws) {
  Fit result;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    if (shares[i] <= 0) {
      EXPECT_EQ(seen[i], 0) << "mirror " << i << " has no share";
      continue;
    }
    const auto expected = shares[i] * draws;
    result.chi_square += (seen[i] - expected) * (seen[i] - expected) / expected;
    result.freedom += 1;
  }
  return result;
}

/// Tolerance: the chi-square statistic may exceed its mean (the degrees of freedom) by six of its
/// standard deviations and 12; a right implementation stays below it for all but one
/// comparison in a hundred thousand, a share that is off by a tenth does not.
TEST(Shares, AreTheFrequenciesOfThePicksForEveryStrategy) {
  constexpr int kDraws = 60'000;
  for (auto name : strategy_names()) {
    for (const auto& [what, mirrors] : sets()) {
      for (const auto avoided : {Candidates{}, set_of({1})}) {
        const auto strategy = make_strategy(name, {});
        SeededRandom random(2024);
        std::array<int, 64> seen{};
        for (int i = 0; i < kDraws; ++i)
          ++seen[testing::pick_any(mirrors, avoided, *strategy, random)];

        const auto narrowed =
            strategy->narrow(mirrors, Candidates::first(mirrors.size()) - avoided);
        const auto shares = strategy->shares(mirrors, narrowed);
        EXPECT_NEAR(std::accumulate(shares.begin(), shares.end(), 0.0), 1, 1e-12);
        const auto [chi_square, freedom] = fit(seen, shares, kDraws);
        EXPECT_LE(chi_square, freedom + 6 * std::sqrt(2 * freedom) + 12) << name << ", " << what;
      }
    }
  }
}

TEST(Shares, OfAnEmptySetAreAllZero) {
  for (auto name : strategy_names())
    EXPECT_EQ(make_strategy(name, {})->shares({}, {}), Shares{}) << name;
}

}  // namespace
}  // namespace karmad
