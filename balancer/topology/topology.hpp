#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "agent/dialect/dialects.hpp"
#include "agent/mirrors/mirror_set.hpp"
#include "balancer/rules/admission/rate_limiter.hpp"
#include "balancer/rules/hedge_plan.hpp"
#include "balancer/rules/retry_plan.hpp"
#include "balancer/topology/shard_definition.hpp"
#include "config/settings.hpp"

namespace karmad {

/// Every agent that anything refers to, by its address: two tables that name the same host share
/// its statistics. Used by the thread that builds topologies.
class AgentRegistry {
 public:
  AgentRegistry(unsigned workers, Micros period) : workers_(workers), period_(period) {}
  std::shared_ptr<Agent> at(const Address& address);

 private:
  unsigned workers_;
  Micros period_;
  std::map<Address, std::weak_ptr<Agent>> agents_;
  std::size_t next_id_ = 0;
};

/// One part of a table: its mirrors, and the settings that it was made from.
struct Shard : ShardDefinition {
  std::shared_ptr<MirrorSet> mirrors;
  std::unique_ptr<Protection> protection;
};

/// An agent that gets a copy of every query and is not listened to.
struct Blackhole {
  std::shared_ptr<Agent> agent;
  std::vector<std::string> tables;
  std::size_t line = 0;  ///< number of its `agent_blackhole` line in the table
};

struct Table {
  std::string name;
  DialectKind dialect;
  std::string route;
  std::unique_ptr<Dialect> routed;  ///< understands what comes to its route; null: it has none
  Micros connect_timeout{};
  Micros query_timeout{};
  std::optional<unsigned> retry_count;  ///< per mirror; unset: X-15
  RetryRules retry_rules;
  std::optional<Micros> first_byte_timeout;
  std::vector<Micros> search_timeouts;  ///< of attempt 1, 2, …; none: query_timeout for all
  HedgeSetting hedge;
  std::optional<Micros> hedge_step;
  unsigned hedge_max{};
  PartialResults partial_results{};
  std::optional<ReadPreference> preference;  ///< of the table or the instance (SS-080)
  Updates updates{};
  Consistency consistency{};
  std::shared_ptr<RateLimiter> requests;  ///< null: no `request_rate`, or admission is off
  BucketRule request_rule;                ///< which the limiter gets when this topology is adopted
  std::vector<std::shared_ptr<Shard>> shards;
  std::vector<Blackhole> blackholes;
};

/// A path where a dialect is asked, and what understands the requests to it.
struct ServedPath {
  const DialectKind& kind;
  const DialectEndpoint& endpoint;
  std::unique_ptr<Dialect> dialect;
};

/// Tables to shards to mirror sets, with the settings they were made from. Never changes once it is
/// built; workers hold it as long as a query needs it.
class Topology {
 public:
  /// What mirror sets are made with, besides the configuration.
  struct Environment {
    AgentRegistry& registry;
    unsigned workers = 1;
    const Loops& loops;
    Selector selector{};  ///< the application's, if it has one (SS-020)
    Dialects dialects = karmad::dialects();
  };

  /// Names what only this room can judge (strategies, dialects, routes, read preferences, pings),
  /// and what will not work as it may be meant. Builds nothing, so the settings may have other
  /// problems.
  static void judge(const Settings& settings, Dialects dialects, Problems& problems,
                    Problems& notices);

  /// Builds it from settings without problems; nullptr when judge() finds one. Mirror sets that did
  /// not change since `previous` are taken over. Of those that did, what is known goes over mirror
  /// by mirror: a mirror is the same that was in the table before, at the same address and under
  /// the same names; what pings told of it follows with take_over(). Limits of agents take effect
  /// with apply_limits().
  static std::shared_ptr<const Topology> build(const Settings& settings,
                                               const Environment& environment,
                                               const Topology* previous, Problems& problems);

  /// The agents' limits are from now on those of this topology (`max_in_flight`,
  /// `agent_max_connections` …); worker 0, or before the workers run.
  void apply_limits() const;

  /// What pings told of mirrors that were there before goes over to their new sets; worker 0,
  /// before any worker uses this topology.
  void take_over() const;

  /// The table of that name, whatever the case of its letters; null: there is none.
  const Table* find(std::string_view name) const;
  /// The table with the longest route that covers the path; null: there is none.
  const Table* route(std::string_view path) const;
  /// What a dialect serves at exactly this path; null: none has it.
  const ServedPath* served(std::string_view path) const;

  InstanceSettings settings;
  bool limits_connections = false;  ///< there is a rate of them, and admission is not off
  bool limits_requests = false;     ///< the same, of all or of a client's
  HedgeSetting hedge;               ///< where neither request nor table say anything
  std::vector<std::unique_ptr<Table>> tables;         ///< in the order of the file
  std::vector<std::shared_ptr<Agent>> agents;         ///< in the order of first use
  std::map<const Agent*, AgentSlotRules> slots;       ///< of those that have a limit
  std::vector<std::shared_ptr<Agent>> pinged_agents;  ///< all that are asked how they are

 private:
  void serve(Dialects dialects, const DialectSettings& with);

  /// Names of tables have no case, as for the search server.
  struct NameLess {
    using is_transparent = void;
    bool operator()(std::string_view a, std::string_view b) const;
  };
  std::map<std::string, const Table*, NameLess> by_name_;
  std::vector<const Table*> routes_;  ///< longest first
  std::vector<ServedPath> served_;    ///< so few that looking at each takes less than a hash
};

}  // namespace karmad
