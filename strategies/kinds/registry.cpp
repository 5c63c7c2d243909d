#include "strategies/kinds/registry.hpp"

#include <array>

#include "strategies/kinds/by_karma.hpp"
#include "strategies/kinds/by_load.hpp"
#include "strategies/kinds/by_weight.hpp"

namespace karmad {
namespace {

using Made = std::unique_ptr<Strategy>;

struct Entry {
  std::string_view name;
  Made (*make)(const StrategySettings&);
  bool at_once = false;  ///< reacts_at_once()
};

constexpr std::size_t or_default(unsigned choices, std::size_t by_default) {
  return choices == 0 ? by_default : choices;
}

constexpr std::array kEntries{
    Entry{"random", [](const auto&) -> Made { return std::make_unique<Random>(); }},
    Entry{"roundrobin", [](const auto&) -> Made { return std::make_unique<RoundRobin>(); }},
    Entry{"nodeads", [](const auto& s) -> Made { return std::make_unique<NoDeads>(s.dead_after); }},
    Entry{"noerrors", [](const auto&) -> Made { return std::make_unique<NoErrors>(); }},
    Entry{"leastops",
          [](const auto& s) -> Made { return std::make_unique<LeastOps>(s.dead_after); }},
    Entry{"adaptive",
          [](const auto& s) -> Made {
            return std::make_unique<Adaptive>(s.dead_after, or_default(s.choices, 2));
          },
          /*at_once=*/true},
    Entry{"prequal",
          [](const auto& s) -> Made {
            return std::make_unique<Prequal>(s.dead_after, or_default(s.choices, Prequal::kDrawn));
          },
          /*at_once=*/true},
    Entry{"ars", [](const auto& s) -> Made { return std::make_unique<Ars>(s.dead_after); },
          /*at_once=*/true},
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

bool reacts_at_once(std::string_view name) {
  for (const auto& entry : kEntries)
    if (entry.name == name) return entry.at_once;
  return false;
}

std::span<const std::string_view> strategy_names() {
  return kNames;
}

}  // namespace karmad
