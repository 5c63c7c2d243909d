// What does a pick cost? ns per select() for each strategy and number of mirrors, and for reads
// with a preference; fails when a pick allocates. Target: 50 ns for up to 16 mirrors, 100 ns for
// 64, without a preference.
#include <benchmark/benchmark.h>

#include <array>
#include <chrono>
#include <string>
#include <vector>

#include "strategies/kinds/registry.hpp"
#include "strategies/select.hpp"
#include "tests/support/counted_allocations.hpp"

namespace karmad {
namespace {

using test::allocations;

/// Mirrors as in production: unequal karma, a few errors that are tolerated.
std::vector<MirrorView> healthy(std::size_t count) {
  std::vector<MirrorView> mirrors;
  for (std::size_t i = 0; i < count; ++i)
    mirrors.push_back({.errors_in_a_row = i % 5 == 0 ? 1U : 0U,
                       .karma = 1.0 / static_cast<double>(1 + i % 8),
                       .rates = error_rates(1000, i % 3, i % 2)});
  return mirrors;
}

/// One in four is dead, with errors above the tolerated number.
std::vector<MirrorView> troubled(std::size_t count) {
  auto mirrors = healthy(count);
  for (std::size_t i = 0; i < count; i += 4) {
    mirrors[i].errors_in_a_row = 10;
    mirrors[i].rates = error_rates(500, 0, 500);
  }
  return mirrors;
}

/// All are dead and above the tolerated error rate, each with a different rate.
std::vector<MirrorView> failing(std::size_t count) {
  auto mirrors = healthy(count);
  for (std::size_t i = 0; i < count; ++i) {
    mirrors[i].errors_in_a_row = 4 + static_cast<unsigned>(i * 7 % 5);
    mirrors[i].rates = error_rates(1000, 0, 200 + i * 7 % 5);
  }
  return mirrors;
}

/// A primary and replicas in two zones, with known round trips and little lag; one in four is far
/// away.
SetDescription pictured(std::size_t count) {
  SetDescription set{.kind = SetKind::roles, .ping_interval = std::chrono::seconds(1)};
  for (std::size_t i = 0; i < count; ++i)
    set.mirrors.push_back({.role = i == 0 ? Role::primary : Role::replica,
                           .tags = {{"dc", i % 2 == 0 ? "ny" : "sf"}, {"rack", "2"}},
                           .rtt = std::chrono::milliseconds(i % 4 == 3 ? 80 : 1 + i % 7),
                           .last_write = std::chrono::seconds(100 + i % 3)});
  return set;
}

void pick(benchmark::State& state, std::string_view name, const std::vector<MirrorView>& mirrors,
          const SetDescription& picture, const SelectionCriteria& criteria) {
  const auto strategy = make_strategy(name, {});
  SeededRandom random(1);
  const auto before = allocations();
  for (auto _ : state)
    benchmark::DoNotOptimize(select(criteria, picture, mirrors, *strategy, random));
  // The benchmark loop itself allocates nothing.
  if (allocations() != before) state.SkipWithError("a pick allocated memory");
}

constexpr std::array<std::size_t, 4> kCounts{2, 4, 16, 64};

struct Condition {
  const char* name;
  std::vector<MirrorView> (*mirrors)(std::size_t);
};

struct Asked {
  const char* name;
  ReadPreference preference;
};

const bool registered = [] {
  for (auto name : strategy_names())
    for (const auto& [condition, mirrors_of] :
         {Condition{"healthy", healthy}, Condition{"troubled", troubled},
          Condition{"failing", failing}})
      for (const auto count : kCounts)
        benchmark::RegisterBenchmark(
            (std::string(name) + '/' + condition + '/' + std::to_string(count)).c_str(),
            [name, mirrors = mirrors_of(count)](benchmark::State& state) {
              pick(state, name, mirrors, {}, {});
            });
  return true;
}();

/// The strategy of a table with a read preference and no `ha_strategy`: the less busy of two
/// mirrors within the latency window.
const bool registered_with_preference = [] {
  const std::vector<Tags> places{{{"dc", "la"}}, {{"dc", "sf"}, {"rack", "2"}}};
  for (const auto& [asked, preference] :
       {Asked{"nearest", {.mode = Mode::nearest}},
        Asked{"fresh", {.mode = Mode::nearest, .max_staleness = std::chrono::seconds(90)}},
        Asked{"tagged", {.mode = Mode::secondary_preferred, .tag_sets = places}}})
    for (const auto count : kCounts)
      benchmark::RegisterBenchmark(
          (std::string("leastops/") + asked + '/' + std::to_string(count)).c_str(),
          [need = Need{.preference = preference}, mirrors = healthy(count),
           picture = pictured(count)](benchmark::State& state) {
            pick(state, "leastops", mirrors, picture,
                 {.need = &need, .window = std::chrono::milliseconds(15)});
          });
  return true;
}();

}  // namespace
}  // namespace karmad
