// What does a pick cost? ns per select() for each strategy and number of mirrors; fails when a pick
// allocates. Target: 50 ns for up to 16 mirrors, 100 ns for 64.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include "strategies/registry.hpp"
#include "strategies/select.hpp"

namespace {
std::size_t allocations = 0;
}

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

/// Mirrors as in production: unequal karma, a few errors that are tolerated.
std::vector<MirrorView> healthy(std::size_t count) {
  std::vector<MirrorView> mirrors;
  for (std::size_t i = 0; i < count; ++i)
    mirrors.push_back({.errors_in_a_row = i % 5 == 0 ? 1U : 0U,
                       .karma = 1.0 / static_cast<double>(1 + i % 8),
                       .rates = error_rates(1000, i % 3, i % 2)});
  return mirrors;
}

/// One in four dead, with errors that show.
std::vector<MirrorView> troubled(std::size_t count) {
  auto mirrors = healthy(count);
  for (std::size_t i = 0; i < count; i += 4) {
    mirrors[i].errors_in_a_row = 10;
    mirrors[i].rates = error_rates(500, 0, 500);
  }
  return mirrors;
}

/// All dead and above the tolerated rate, each to a degree of its own.
std::vector<MirrorView> failing(std::size_t count) {
  auto mirrors = healthy(count);
  for (std::size_t i = 0; i < count; ++i) {
    mirrors[i].errors_in_a_row = 4 + static_cast<unsigned>(i * 7 % 5);
    mirrors[i].rates = error_rates(1000, 0, 200 + i * 7 % 5);
  }
  return mirrors;
}

void pick(benchmark::State& state, std::string_view name, const std::vector<MirrorView>& mirrors) {
  const auto strategy = make_strategy(name, {});
  SeededRandom random(1);
  const auto before = allocations;
  for (auto _ : state) benchmark::DoNotOptimize(select(mirrors, {}, *strategy, random));
  // The loop's own bookkeeping allocates nothing either.
  if (allocations != before) state.SkipWithError("a pick allocated memory");
}

struct Condition {
  const char* name;
  std::vector<MirrorView> (*mirrors)(std::size_t);
};

const bool registered = [] {
  for (auto name : strategy_names())
    for (const auto& [condition, mirrors_of] :
         {Condition{"healthy", healthy}, Condition{"troubled", troubled},
          Condition{"failing", failing}})
      for (const std::size_t count : {2U, 4U, 16U, 64U})
        benchmark::RegisterBenchmark(
            (std::string(name) + '/' + condition + '/' + std::to_string(count)).c_str(),
            [name, mirrors = mirrors_of(count)](benchmark::State& state) {
              pick(state, name, mirrors);
            });
  return true;
}();

}  // namespace
}  // namespace karmad
