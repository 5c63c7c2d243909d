#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "strategies/estimates/karma_weights.hpp"
#include "strategies/kinds/registry.hpp"
#include "tests/strategies/builders.hpp"
#include "tests/strategies/pictures.hpp"
#include "tests/support/counted_allocations.hpp"

namespace karmad {
namespace {

using test::allocations;

TEST(Allocations, AreCounted) {
  const auto before = allocations();
  auto* volatile kept = new int(1);
  delete kept;
  EXPECT_EQ(allocations(), before + 1);
}

TEST(Allocations, APickMakesNone) {
  for (auto name : strategy_names()) {
    const auto strategy = make_strategy(name, {});
    for (const std::size_t n : {1U, 2U, 16U, 64U}) {
      std::vector<MirrorView> mirrors(n);
      SeededRandom random(1);
      const auto before = allocations();
      for (int round = 0; round < 100; ++round) {
        for (std::size_t i = 0; i < n; ++i) {
          const auto count = static_cast<unsigned>(i) + static_cast<unsigned>(round);
          mirrors[i] = {count % 9, count % 5, static_cast<double>(count % 4),
                        error_rates(count % 3, 1, 1)};
        }
        testing::pick_any(mirrors, Candidates::first(n / 2), *strategy, random);
        strategy->shares(mirrors, Candidates::first(n));
      }
      EXPECT_EQ(allocations(), before) << name << ", " << n << " mirrors";
    }
  }
}

TEST(Allocations, APickWithAPreferenceMakesNone) {
  const auto labels = testing::tags("dc:a name too long for the string itself,rack:2");
  Need need{.preference = {.tag_sets = {testing::tags("dc:sf"), labels},
                           .max_staleness = std::chrono::seconds(90)}};
  for (auto name : strategy_names()) {
    const auto strategy = make_strategy(name, {});
    for (const std::size_t n : {1U, 2U, 16U, 64U}) {
      const std::vector<MirrorView> mirrors(n);
      auto set = testing::picture(SetKind::roles, std::vector<MirrorFacts>(n));
      for (std::size_t i = 0; i < n; ++i)
        set.mirrors[i] = {.role = i == 0 ? Role::primary : Role::replica,
                          .tags = labels,
                          .rtt = Micros(i % 7),
                          .last_write = Micros(i)};
      const Selector selector = [](const SetDescription&, Candidates all) { return all; };
      SeededRandom random(1);
      const auto before = allocations();
      for (auto mode : {Mode::primary, Mode::primary_preferred, Mode::secondary,
                        Mode::secondary_preferred, Mode::nearest}) {
        need.preference.mode = mode;
        for (std::size_t round = 0; round < 20; ++round)
          select({.need = &need,
                  .avoided = Candidates::first(round % n),
                  .window = Micros(3),
                  .selector = &selector},
                 set, mirrors, *strategy, random);
      }
      EXPECT_EQ(allocations(), before) << name << ", " << n << " mirrors";
    }
  }
}

TEST(Allocations, NewWeightsAndTheFailureFloorMakeNone) {
  std::vector<double> weights(64, 1.0 / 64);
  std::vector<std::optional<Micros>> means(64, Micros{10'000});
  const auto before = allocations();
  next_weights(weights, means, {});
  failure_floor(means);
  EXPECT_EQ(allocations(), before);
}

}  // namespace
}  // namespace karmad
