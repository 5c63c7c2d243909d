#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agent/health/state.hpp"
#include "agent/ping_kinds/ping_kinds.hpp"
#include "balancer/rules/protection.hpp"
#include "config/settings/settings.hpp"
#include "strategies/estimates/karma_weights.hpp"
#include "strategies/estimates/slow_start.hpp"
#include "strategies/kinds/registry.hpp"

namespace karmad {

/// How the mirrors of a shard are pinged; without a kind they are not.
struct ShardPings {
  const PingKind* kind = nullptr;
  std::string path;     ///< empty: the kind's default
  bool always = false;  ///< also while queries show that the mirror is alive (X-6)
  bool operator==(const ShardPings&) const = default;
};

/// All settings of a mirror set. A reload that leaves them equal keeps the set.
struct MirrorSetRules {
  /// One mirror: its address, and its names of the table.
  struct Holder {
    Address address;
    std::vector<std::string> tables;
    bool operator==(const Holder&) const = default;
  };

  std::vector<Holder> holders;
  std::vector<Member> members;  ///< configured properties, one per holder
  std::string strategy;
  StrategySettings strategy_settings;
  KarmaRules karma;
  SlowStartRules slow_start;
  SetSettings state;
  ShardPings pings;
  /// True if pings distinguish the mirrors by roles, tags, or the state of their copies. Then
  /// searches without a read preference also need a suitable mirror.
  bool tracks_state = false;
  bool operator==(const MirrorSetRules&) const = default;
};

/// All settings of a shard. A reload that leaves them equal keeps the shard.
struct ShardDefinition : MirrorSetRules {
  ProtectionRules protection_rules;
  std::optional<unsigned> retry_count;  ///< absolute (HA-026)
  bool persistent = false;
  bool operator==(const ShardDefinition&) const = default;
};

}  // namespace karmad
