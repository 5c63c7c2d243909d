#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agent/mirrors/state.hpp"
#include "agent/ping_kinds/ping_kinds.hpp"
#include "balancer/rules/protection.hpp"
#include "config/settings.hpp"
#include "strategies/karma_weights.hpp"
#include "strategies/registry.hpp"

namespace karmad {

/// How the mirrors of a shard are pinged; no kind: they are not.
struct ShardPings {
  const PingKind* kind = nullptr;
  std::string path;     ///< empty: the kind's own
  bool always = false;  ///< also when queries show that they are alive (X-6)
  bool operator==(const ShardPings&) const = default;
};

/// All settings that a mirror set is made from. A reload that leaves them equal keeps the set.
struct MirrorSetRules {
  /// One mirror: where, and under which names of the table.
  struct Holder {
    Address address;
    std::vector<std::string> tables;
    unsigned weight = 1;
    bool operator==(const Holder&) const = default;
  };

  std::vector<Holder> holders;
  std::vector<Member> members;  ///< what the configuration says of the holders, as many
  std::string strategy;
  StrategySettings strategy_settings;
  KarmaRules karma;
  SetSettings state;
  ShardPings pings;
  /// Its mirrors are told apart by what pings say of them: by roles, tags, or what an engine thinks
  /// of its own copy. Then a search goes to a suitable one even without a read preference.
  bool tracks_state = false;
  bool operator==(const MirrorSetRules&) const = default;
};

/// All settings that a shard is made from. A reload that leaves them equal keeps the shard.
struct ShardDefinition : MirrorSetRules {
  ProtectionRules protection_rules;
  std::optional<unsigned> retry_count;  ///< absolute (HA-026)
  bool persistent = false;
  bool operator==(const ShardDefinition&) const = default;
};

}  // namespace karmad
