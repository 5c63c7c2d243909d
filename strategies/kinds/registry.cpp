#include "strategies/kinds/registry.hpp"

#include <array>

#include "strategies/kinds/leastops.hpp"
#include "strategies/kinds/nodeads.hpp"
#include "strategies/kinds/noerrors.hpp"
#include "strategies/kinds/random.hpp"
#include "strategies/kinds/roundrobin.hpp"

namespace karmad {
namespace {

using Made = std::unique_ptr<Strategy>;

struct Entry {
  std::string_view name;
  Made (*make)(const StrategySettings&);
  bool by_weight = true;
};

constexpr std::array kEntries{
    Entry{"random", [](const auto&) -> Made { return std::make_unique<Random>(); }},
    Entry{"roundrobin", [](const auto&) -> Made { return std::make_unique<RoundRobin>(); },
          /*by_weight=*/false},
    Entry{"nodeads",
          [](const auto& s) -> Made { return std::make_unique<NoDeads>(s.tolerated_errors); }},
    Entry{"noerrors", [](const auto&) -> Made { return std::make_unique<NoErrors>(); }},
    Entry{"leastops",
          [](const auto& s) -> Made { return std::make_unique<LeastOps>(s.tolerated_errors); },
          /*by_weight=*/false},
};

constexpr auto kNames = [] {
  std::array<std::string_view, kEntries.size()> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = kEntries[i].name;
  return names;
}();

}  // namespace

std::unique_ptr<Strategy> make_strategy(std::string_view name, const StrategySettings& settings) {
  for (const auto& entry : kEntries)
    if (entry.name == name) return entry.make(settings);
  return nullptr;
}

bool draws_by_weight(std::string_view name) {
  for (const auto& entry : kEntries)
    if (entry.name == name) return entry.by_weight;
  return false;
}

std::span<const std::string_view> strategy_names() {
  return kNames;
}

}  // namespace karmad
