#include <gtest/gtest.h>

#include <cstdlib>
#include <new>
#include <optional>
#include <vector>

#include "strategies/karma_weights.hpp"
#include "strategies/registry.hpp"
#include "strategies/select.hpp"

namespace {
thread_local std::size_t allocations = 0;
}

// Replaced for the whole test program; only the count between two marks is looked at. Not inlined:
// g++ would take the pairs apart and warn about them.
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace karmad {
namespace {

TEST(Allocations, AreCounted) {
  const auto before = allocations;
  auto* volatile kept = new int(1);
  delete kept;
  EXPECT_EQ(allocations, before + 1);
}

TEST(Allocations, APickMakesNone) {
  for (auto name : strategy_names()) {
    const auto strategy = make_strategy(name, {});
    for (const std::size_t n : {1U, 2U, 16U, 64U}) {
      std::vector<MirrorView> mirrors(n);
      SeededRandom random(1);
      const auto before = allocations;
      for (int round = 0; round < 100; ++round) {
        for (std::size_t i = 0; i < n; ++i) {
          const auto count = static_cast<unsigned>(i) + static_cast<unsigned>(round);
          mirrors[i] = {count % 9, static_cast<double>(count % 4), error_rates(count % 3, 1, 1)};
        }
        select(mirrors, Candidates::first(n / 2), *strategy, random);
        strategy->shares(mirrors, Candidates::first(n));
      }
      EXPECT_EQ(allocations, before) << name << ", " << n << " mirrors";
    }
  }
}

TEST(Allocations, NewWeightsAndTheFailureFloorMakeNone) {
  std::vector<double> weights(64, 1.0 / 64);
  std::vector<std::optional<Micros>> means(64, Micros{10'000});
  const auto before = allocations;
  next_weights(weights, means, {});
  failure_floor(means);
  EXPECT_EQ(allocations, before);
}

}  // namespace
}  // namespace karmad
