#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "strategies/strategy.hpp"

namespace karmad {

/// Parameters of all strategies; each reads its own.
struct StrategySettings {
  unsigned dead_after = 3;  ///< errors in a row before a mirror is dead (HA-022)
  unsigned choices = 0;     ///< mirrors that `adaptive` and `prequal` compare; 0: their own
  bool operator==(const StrategySettings&) const = default;
};

/// Makes the strategy of that name for one mirror set (HA-002); nullptr if it is unknown.
std::unique_ptr<Strategy> make_strategy(std::string_view name, const StrategySettings& settings);

/// Whether the strategy of that name reacts to single attempts, so that a mirror which has just
/// returned could be flooded; false for unknown names.
bool reacts_at_once(std::string_view name);

/// All known names; the first is the default (HA-002).
std::span<const std::string_view> strategy_names();

}  // namespace karmad
