#include "balancer/topology.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "agent/dialect/dialects.hpp"
#include "agent/dialect/opaque_http/opaque_http.hpp"
#include "balancer/endpoints.hpp"
#include "config/closest.hpp"
#include "strategies/registry.hpp"

namespace karmad {

std::shared_ptr<Agent> AgentRegistry::at(const Address& address) {
  auto& known = agents_[address];
  auto agent = known.lock();
  if (!agent) {
    agent = std::make_shared<Agent>(address, next_id_++, workers_, period_);
    known = agent;
  }
  return agent;
}

namespace {

template <class T>
void insert_once(std::vector<std::shared_ptr<T>>& into, const std::shared_ptr<T>& item) {
  if (std::ranges::find(into, item) == into.end()) into.push_back(item);
}

/// Makes the tables of one topology; collects what is wrong with them.
class Builder {
 public:
  Builder(Topology& topology, AgentRegistry& registry, unsigned workers, const Topology* previous,
          Problems& problems)
      : topology_(topology),
        registry_(registry),
        workers_(workers),
        previous_(previous),
        problems_(problems) {}

  std::unique_ptr<Table> table(const TableSettings& from) {
    const auto& instance = topology_.settings;
    auto table = std::make_unique<Table>();
    table->name = from.name;
    table->dialect_name = from.dialect.value;
    table->connect_timeout =
        from.agent_connect_timeout.value_or(instance.agent_connect_timeout).value;
    table->query_timeout = from.agent_query_timeout.value_or(instance.agent_query_timeout).value;
    if (const auto& count =
            from.agent_retry_count ? from.agent_retry_count : instance.agent_retry_count)
      table->retry_count = count->value;
    table->partial_results = from.partial_results.value_or(instance.partial_results).value;
    if (from.dialect.value == "http") {
      table->route = from.route.value;
      if (is_own_path(table->route))
        problems_.push_back({from.route.at, fmt::format("karmad answers '{}' itself; a route needs "
                                                        "another path",
                                                        table->route)});
      table->opaque =
          make_opaque_http({.table = from.name,
                            .route = from.route.value,
                            .path = from.path ? std::optional(from.path->value) : std::nullopt,
                            .reads = from.reads});
    } else if (from.dialect.value != "manticore") {
      problems_.push_back({from.dialect.at, fmt::format("dialect '{}' is unknown; known are "
                                                        "manticore and http",
                                                        from.dialect.value)});
    }
    for (const auto& shard : from.shards) table->shards.push_back(this->shard(from, shard));
    for (const auto& line : from.blackholes)
      for (const auto& mirror : line.mirrors) {
        table->blackholes.push_back({registry_.at(mirror.address), mirror.tables});
        insert_once(topology_.agents, table->blackholes.back().agent);
      }
    return table;
  }

 private:
  std::shared_ptr<Shard> shard(const TableSettings& table, const ShardSettings& from) {
    const auto& instance = topology_.settings;
    const auto& name = from.ha_strategy    ? *from.ha_strategy
                       : table.ha_strategy ? *table.ha_strategy
                                           : instance.ha_strategy;
    auto strategy = make_strategy(name.value, {.tolerated_errors = instance.dead_after.value});
    if (!strategy)
      problems_.push_back({name.at, fmt::format("ha_strategy '{}' is unknown; known are {}{}",
                                                name.value, fmt::join(strategy_names(), ", "),
                                                suggestion(name.value, strategy_names()))});
    const auto identity = identity_of(table, from, name.value);
    std::vector<std::unique_ptr<Mirror>> mirrors;
    for (const auto& mirror : from.mirrors) {
      auto agent = registry_.at(mirror.address);
      insert_once(topology_.agents, agent);
      insert_once(topology_.pinged_agents, agent);
      mirrors.push_back(std::make_unique<Mirror>(std::move(agent), mirror.tables, workers_,
                                                 instance.ha_period_karma.value));
    }
    if (auto same = unchanged(table.name, identity)) return same;
    if (!strategy) return nullptr;
    auto shard = std::make_shared<Shard>();
    shard->mirrors = std::make_unique<MirrorSet>(
        std::move(mirrors), std::move(strategy), name.value,
        KarmaRules{.compound = instance.karma_compound.value}, instance.ha_period_karma.value);
    shard->retry_count = from.retry_count;
    shard->persistent = from.persistent;
    shard->identity = identity;
    return shard;
  }

  std::string identity_of(const TableSettings& table, const ShardSettings& from,
                          std::string_view strategy) const {
    return fmt::format("{} {} {} {} {} {}", table.name, from.line, strategy, from.persistent,
                       topology_.settings.dead_after.value,
                       topology_.settings.karma_compound.value);
  }

  std::shared_ptr<Shard> unchanged(const std::string& table, const std::string& identity) const {
    const auto* before = previous_ != nullptr ? previous_->find(table) : nullptr;
    if (before == nullptr) return nullptr;
    for (const auto& shard : before->shards)
      if (shard->identity == identity) return shard;
    return nullptr;
  }

  Topology& topology_;
  AgentRegistry& registry_;
  unsigned workers_;
  const Topology* previous_;
  Problems& problems_;
};

}  // namespace

std::shared_ptr<const Topology> Topology::build(const Settings& settings, AgentRegistry& registry,
                                                unsigned workers, const Topology* previous,
                                                Problems& problems) {
  const auto before = problems.size();
  auto topology = std::make_shared<Topology>();
  topology->settings = settings.searchd;
  const DialectSettings dialect{.collation = settings.searchd.collation.value,
                                .max_json_depth = settings.searchd.max_json_depth.value};
  topology->json = make_manticore_json(dialect);
  topology->sql = make_manticore_sql(dialect);
  Builder builder(*topology, registry, workers, previous, problems);
  for (const auto& table : settings.tables) topology->tables.push_back(builder.table(table));
  if (problems.size() != before) return nullptr;
  for (const auto& table : topology->tables) {
    topology->by_name_.emplace(table->name, table.get());
    if (table->opaque) topology->routes_.push_back(table.get());
  }
  std::ranges::stable_sort(topology->routes_, std::ranges::greater{},
                           [](const Table* table) { return table->route.size(); });
  return topology;
}

const Table* Topology::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

const Table* Topology::route(std::string_view path) const {
  for (const auto* table : routes_)
    if (route_covers(table->route, path)) return table;
  return nullptr;
}

}  // namespace karmad
