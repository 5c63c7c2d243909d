#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "agent/dialect/kinds/dialect_kind.hpp"
#include "agent/health/former_places.hpp"
#include "agent/transport/http/http_syntax.hpp"
#include "balancer/rules/admission/rate_gates.hpp"
#include "balancer/topology/rule_reader.hpp"
#include "balancer/topology/topology.hpp"
#include "config/settings/inherit.hpp"
#include "config/text/closest.hpp"
#include "strategies/kinds/registry.hpp"
#include "strategies/read_preference.hpp"

namespace karmad {
namespace {

using Agents = std::vector<std::shared_ptr<Agent>>;  ///< of a shard, in the order of its mirrors

/// The shard before a reload that a new shard replaces, and the mirrors that both have: those at
/// the same agent with the same names of the table.
struct FormerShard {
  std::shared_ptr<const Shard> shard;  ///< null: no mirror existed before
  FormerPlaces places;
};

/// The positions of the shard's mirrors in that shard.
FormerShard former_shard(std::shared_ptr<const Shard> before, const Agents& agents,
                         const ShardSettings& settings) {
  FormerShard former{std::move(before), FormerPlaces(agents.size())};
  const auto& set = *former.shard->mirrors;
  for (std::size_t now = 0; now < agents.size(); ++now)
    for (std::size_t then = 0; then < set.size(); ++then)
      if (set[then].agent == agents[now] && set[then].tables == settings.mirrors[now].tables)
        former.places[now] = then;
  return former;
}

/// Chooses the shard of the former table, if any, with most mirrors in common.
FormerShard former_shard(const Table* before, const Agents& agents, const ShardSettings& settings) {
  FormerShard best{nullptr, FormerPlaces(agents.size())};
  if (before == nullptr) return best;
  const auto in_common = [](const FormerShard& former) {
    return std::ranges::count_if(former.places,
                                 [](const auto& place) { return place.has_value(); });
  };
  for (const auto& shard : before->shards)
    if (auto next = former_shard(shard, agents, settings); in_common(next) > in_common(best))
      best = std::move(next);
  return best;
}

template <class T>
void insert_new(std::vector<std::shared_ptr<T>>& into, const std::shared_ptr<T>& item) {
  if (std::ranges::find(into, item) == into.end()) into.push_back(item);
}

/// Builds the tables of one topology and collects problems.
class Builder {
 public:
  /// With `notices` it only checks the settings and builds no mirrors.
  Builder(Topology& topology, const Topology::Environment& environment, const Topology* previous,
          Problems& problems, Problems* notices = nullptr)
      : topology_(topology),
        environment_(environment),
        registry_(environment.registry),
        rules_(topology.settings, problems),
        previous_(previous),
        problems_(problems),
        notices_(notices) {}

  std::unique_ptr<Table> table(const TableSettings& from) {
    auto table = std::make_unique<Table>();
    table->name = from.name;
    if (const auto* kind = dialect_of(from, environment_.dialects, problems_))
      table->dialect = *kind;
    table->timeouts.connect = from.agent_connect_timeout.value;
    table->timeouts.query = from.agent_query_timeout.value;
    if (from.agent_retry_count) table->retry_count = from.agent_retry_count->value;
    table->preference = rules_.read_preference(from);
    table->retry_rules = rules_.retries(from);
    if (from.agent_first_byte_timeout)
      table->timeouts.first_byte = from.agent_first_byte_timeout->value;
    if (from.search_timeouts) table->timeouts.searches = from.search_timeouts->value;
    table->hedging.after = rules_.hedge(from.hedge);
    if (from.hedge_step) table->hedging.step = from.hedge_step->value;
    table->hedging.max = from.hedge_max.value;
    table->updates = updates(from);
    table->shard_by = from.shard_by.value;
    table->consistency = from.consistency.value;
    table->required = from.required.value == Required::yes;
    if (notices_ == nullptr) keep_counts(from, *table);
    table->partial_results = from.partial_results.value;
    table->forwards_headers = from.forwarded_headers ? from.forwarded_headers->value
                                                     : table->dialect.capabilities.passes_fields;
    table->keeps_host = from.keep_host.value;
    table->passes_upgrades = from.upgrades.value;
    if (table->dialect.is_routed()) {
      table->route = from.route.value;
      table->routed = table->dialect.make_routed(
          {.table = from.name,
           .route = from.route.value,
           .path = from.path ? std::optional(from.path->value) : std::nullopt,
           .reads = from.reads,
           .any_method = from.methods.value == Methods::any});
    }
    for (const auto& shard : from.shards)
      table->shards.push_back(this->shard(from, shard, table->preference.has_value(),
                                          table->dialect.capabilities.passes_fields));
    if (notices_ != nullptr) {
      judge_rest(from);
      return table;
    }
    const auto credentials = rules_.credentials(from, table->dialect.capabilities.passes_fields);
    for (std::size_t line = 0; line < from.blackholes.size(); ++line)
      for (const auto& mirror : from.blackholes[line].mirrors) {
        table->blackholes.push_back(
            {registry_.at(mirror.address), mirror.tables, line, credentials});
        encrypt(table->blackholes.back().agent.get(), mirror, from);
        insert_new(topology_.agents, table->blackholes.back().agent);
      }
    return table;
  }

  RuleReader& rules() { return rules_; }

 private:
  std::shared_ptr<Shard> shard(const TableSettings& table, const ShardSettings& from,
                               bool preferred, bool passes_fields) {
    auto rules = rules_.shard(table, from, preferred);
    if (notices_ != nullptr) {
      judge_mirrors(table, from, rules);
      return nullptr;
    }
    rules.credentials = rules_.credentials(table, passes_fields);
    Agents agents;
    for (const auto& mirror : from.mirrors) {
      auto agent = registry_.at(mirror.address);
      insert_new(topology_.agents, agent);
      if (rules.pings.kind != nullptr) insert_new(topology_.pinged_agents, agent);
      limit_slots(agent.get(), mirror.max_in_flight);
      encrypt(agent.get(), mirror, table);
      agents.push_back(std::move(agent));
    }
    const auto same = unchanged_mirrors(table.name, rules);
    if (same) kept_.push_back(same.get());
    if (same && static_cast<const ShardDefinition&>(*same) == rules) {
      counted_on_.insert(same.get());
      return serving(same, from);
    }
    const auto* table_before = previous_ != nullptr ? previous_->find(table.name) : nullptr;
    const auto former =
        same ? former_shard(same, agents, from) : former_shard(table_before, agents, from);
    auto shard = std::make_shared<Shard>();
    static_cast<ShardDefinition&>(*shard) = std::move(rules);
    shard->mirrors = same ? same->mirrors : mirror_set(*shard, agents, former);
    if (!shard->mirrors) return nullptr;
    shard->protection = std::make_unique<Protection>(from.mirrors.size(), shard->protection_rules,
                                                     environment_.workers);
    if (former.shard) {
      shard->protection->take_over(*former.shard->protection, former.places);
      if (counted_on_.insert(former.shard.get()).second)
        shard->protection->continue_counts(*former.shard->protection);
    }
    return serving(shard, from);
  }

  /// The shard; notes the weights and states of its mirrors.
  std::shared_ptr<Shard> serving(std::shared_ptr<Shard> shard, const ShardSettings& from) {
    std::vector<MirrorService> service;
    for (const auto& mirror : from.mirrors)
      service.push_back(
          {.state = mirror.state.value, .weight = static_cast<double>(mirror.weight.value)});
    topology_.services.emplace_back(shard->mirrors, std::move(service));
    return shard;
  }

  /// nullptr if the strategy is unknown.
  std::shared_ptr<MirrorSet> mirror_set(const MirrorSetRules& rules, const Agents& agents,
                                        const FormerShard& former) const {
    auto strategy = make_strategy(rules.strategy, rules.strategy_settings);
    if (!strategy) return nullptr;
    return std::make_shared<MirrorSet>(
        mirrors_of(rules, agents, former),
        SetOptions{.strategy = std::move(strategy),
                   .strategy_name = rules.strategy,
                   .karma = rules.karma,
                   .slow_start = rules.slow_start,
                   .dead_after = rules.strategy_settings.dead_after,
                   .period = topology_.settings.ha_period_karma.value,
                   .workers = environment_.workers,
                   .state = rules.state,
                   .members = rules.members,
                   .selector = environment_.selector,
                   .before = former.shard ? former.shard->mirrors : nullptr,
                   .places = former.places},
        environment_.loops);
  }

  std::vector<std::unique_ptr<Mirror>> mirrors_of(const MirrorSetRules& rules, const Agents& agents,
                                                  const FormerShard& former) const {
    std::vector<std::unique_ptr<Mirror>> mirrors;
    for (std::size_t i = 0; i < agents.size(); ++i) {
      auto record = former.places[i]
                        ? (*former.shard->mirrors)[*former.places[i]].record
                        : std::make_shared<MirrorRecord>(environment_.workers,
                                                         topology_.settings.ha_period_karma.value);
      mirrors.push_back(
          std::make_unique<Mirror>(agents[i], rules.holders[i].tables, std::move(record)));
    }
    return mirrors;
  }

  /// Where updates of a table go: the configured value, else the default of its dialect.
  Updates updates(const TableSettings& table) const {
    const auto* kind = find_dialect(environment_.dialects, table.dialect.value);
    const bool anywhere =
        table.updates.at.line == 0 && kind != nullptr && kind->capabilities.updates_anywhere;
    return anywhere ? Updates::any : table.updates.value;
  }

  /// Checks the mirrors of a line, and warns of their settings without effect.
  void judge_mirrors(const TableSettings& table, const ShardSettings& from,
                     const MirrorSetRules& rules) {
    const auto& mirrors = from.mirrors;
    for (const auto& mirror : mirrors) {
      limit_slots(nullptr, mirror.max_in_flight);
      encrypt(nullptr, mirror, table);
      if (mirror.weight.at.line != 0 && mirrors.size() == 1)
        warn(mirror.weight.at, "weight has no effect: the line has one agent");
    }
    strategies_.insert(rules.strategy);
    judge_staleness(table, rules);
    if (mirrors.size() == 1 || rules.state.kind != SetKind::flat) return;
    judge_preference(table);
    if (updates(table) == Updates::primary && std::exchange(refusing_table_, &table) != &table)
      refusing_updates_.push_back({table.name, from.at});
  }

  /// Warns of a limit for which each search of a set with roles is refused.
  void judge_staleness(const TableSettings& table, const MirrorSetRules& rules) {
    const auto kind = rules.state.kind;
    if (kind != SetKind::roles && kind != SetKind::unknown) return;
    const auto preference = rules_.read_preference(table);
    if (!preference) return;
    const auto interval = topology_.settings.ha_ping_interval.value;
    const auto wrong = invalid_for(*preference, SetKind::roles, interval);
    if (!wrong || std::exchange(stale_table_, &table) == &table) return;
    const auto& at = table.max_staleness ? table.max_staleness->at : table.read_preference->at;
    warn(at,
         fmt::format("with roles, searches of table {} are refused: {}", table.name, wrong->why));
  }

  /// Warns of a read preference that leaves no mirror out, as those of the table have no roles.
  /// `nearest` still has its latency window.
  void judge_preference(const TableSettings& table) {
    if (!table.read_preference) return;
    const auto& [text, at, key] = *table.read_preference;
    if (std::ranges::find(preferences_, at) != preferences_.end()) return;
    preferences_.push_back(at);
    const auto why = fmt::format("the mirrors of table {} have no roles", table.name);
    const auto preference = parse_read_preference(text);
    if (preference && preference->mode != Mode::nearest)
      warn(at, fmt::format("read_preference = {} chooses none: {}; they have some with role=… in "
                           "their line, or by ping_type = native or solr",
                           text, why));
    if (table.tag_sets && !topology_.settings.tags_in_flat.value)
      warn(table.tag_sets->at,
           fmt::format("tag_sets has no effect: {}; it has with tags_in_flat = 1", why));
    if (table.max_staleness && table.max_staleness->value > Micros{0})
      warn(table.max_staleness->at, fmt::format("max_staleness has no effect: {}", why));
  }

  /// One notice for all tables, of which there may be thousands.
  void note_refused_updates() {
    const auto& tables = refusing_updates_;
    if (tables.empty()) return;
    constexpr std::size_t kNamed = 3;
    std::vector<std::string_view> names;
    for (const auto& table : tables) names.emplace_back(table.value);
    const auto named = some_of(names, kNamed);
    const auto subject =
        tables.size() == 1 ? "table " + named : fmt::format("{} tables ({})", tables.size(), named);
    notices_->push_back(
        {tables.front().at,
         fmt::format(
             "updates of {} will be refused: none of the mirrors of a line is the primary; "
             "configure role=primary for one of them or, if the mirrors pass updates on to each "
             "other, set updates = any, or updates = all to have each of them sent the update",
             subject)});
  }

  /// What no shard has judged: settings of the table that each line overrides, blackholes.
  void judge_rest(const TableSettings& table) {
    rules_.check(table);
    check_discovery(table);
    for (const auto& line : table.blackholes) {
      rules_.check(static_cast<const InheritedByLines&>(line));
      for (const auto& mirror : line.mirrors) encrypt(nullptr, mirror, table);
      for (const auto& mirror : line.mirrors) limit_slots(nullptr, mirror.max_in_flight);
    }
    const auto strategies = std::exchange(strategies_, {});
    const auto compares = [](const std::set<std::string>& among) {
      return among.contains("adaptive") || among.contains("prequal");
    };
    if (compares(strategies)) compares_ = true;
    const bool is_own_choice = table.choices && is_own(table.choices, topology_.settings.choices);
    if (is_own_choice && !strategies.empty() && !compares(strategies))
      warn(table.choices->at, no_choices(strategies));
    for (const auto& name : strategies) all_strategies_.insert(name);
  }

  static std::string no_choices(const std::set<std::string>& strategies) {
    return fmt::format("choices has no effect with ha_strategy = {}", fmt::join(strategies, ", "));
  }

 public:
  /// The settings of the instance, after all tables.
  void judge_instance() {
    note_refused_updates();
    rules_.check(topology_.settings);
    const auto& choices = topology_.settings.choices;
    if (choices && !compares_ && !all_strategies_.empty())
      warn(choices->at, no_choices(all_strategies_));
  }

 private:
  void warn(const Place& at, std::string message) {
    notices_->push_back({at, std::move(message), Problem::Severity::warning});
  }

  /// A table keeps its tally over reloads, and its rate limiter with its tokens as long as it has
  /// one.
  void keep_counts(const TableSettings& from, Table& table) const {
    const auto* before = previous_ != nullptr ? previous_->find(table.name) : nullptr;
    table.tally =
        before != nullptr ? before->tally : std::make_shared<TableTally>(environment_.workers);
    const auto& rate = from.request_rate.value;
    if (!rate.limits() || topology_.settings.admission.value == AdmissionMode::off) return;
    table.request_rule = rule_of(rate, from.request_burst.value);
    table.requests =
        before != nullptr && before->requests ? before->requests : std::make_shared<RateLimiter>();
  }

  /// Of no agent: only checks the text.
  void limit_slots(const Agent* agent, const Located<std::string>& text) {
    const auto limit = parse_slot_limit(text.value);
    if (!limit) return problem(text.at, limit.error());
    const auto admission = topology_.settings.admission.value;
    if (agent != nullptr && limit->limits() && admission != AdmissionMode::off)
      add_limit(topology_.slots.try_emplace(agent, slot_rules(topology_.settings, admission))
                    .first->second,
                *limit);
  }

  /// Those of a pod are not read here: the configuration may be checked elsewhere.
  void check_discovery(const TableSettings& table) {
    const auto check = [&](std::string_view key, const auto& setting,
                           std::string TlsClientRules::*file) {
      if (!setting) return;
      TlsClientRules rules{.verify = false};
      rules.*file = setting->value;
      if (const auto read = TlsClient::read(rules); !read)
        problem(setting->at, fmt::format("{}: {}", key, read.error().why));
    };
    check("discovery_ca", table.discovery_ca, &TlsClientRules::ca);
    check("discovery_certificate", table.discovery_certificate, &TlsClientRules::certificate);
  }

  /// Reads the files of TLS once for all agents with the same rules. An agent that several tables
  /// have must have the same rules in all. No `agent`: only checks.
  void encrypt(const Agent* agent, const MirrorSettings& mirror, const TableSettings& table) {
    const auto rules = agent_tls_rules(mirror, table);
    const auto& address = mirror.address;
    const auto [known, is_new] = agent_tls_.try_emplace(address, rules, table.name);
    if (!is_new) {
      if (known->second.first != rules)
        problem(mirror.at,
                fmt::format("{} has other settings of TLS (agent_tls …) than in table {}",
                            text(address), known->second.second));
      return;
    }
    if (!rules) return;
    auto& context = tls_contexts_[*rules];
    if (!context) {
      auto read = TlsClient::read(*rules);
      if (!read) return refuse_file(table, read.error());
      context = *std::move(read);
    }
    if (agent == nullptr) return;
    topology_.tls[agent] = std::make_shared<TlsClient>(context, *rules, tls_host(address));
  }

  void refuse_file(const TableSettings& table, const TlsFileError& error) {
    const bool roots = error.role == TlsFileError::Role::roots;
    const auto& file = roots ? table.agent_tls_ca : table.agent_tls_certificate;
    problem(file->at,
            fmt::format("{}: {}", roots ? "agent_tls_ca" : "agent_tls_certificate", error.why));
  }

  void problem(const Place& at, std::string message) {
    problems_.push_back({at, std::move(message)});
  }

  /// A shard of the former table whose mirror set can be kept. Each is used for one line only.
  std::shared_ptr<Shard> unchanged_mirrors(const std::string& table,
                                           const MirrorSetRules& rules) const {
    const auto* before = previous_ != nullptr ? previous_->find(table) : nullptr;
    if (before == nullptr) return nullptr;
    for (const auto& shard : before->shards)
      if (static_cast<const MirrorSetRules&>(*shard) == rules &&
          std::ranges::find(kept_, shard.get()) == kept_.end())
        return shard;
    return nullptr;
  }

  Topology& topology_;
  const Topology::Environment& environment_;
  AgentRegistry& registry_;
  RuleReader rules_;
  const Topology* previous_;
  Problems& problems_;
  Problems* notices_;
  /// The rules of each agent, and the table that had them first.
  std::map<Address, std::pair<std::optional<TlsClientRules>, std::string>> agent_tls_;
  std::map<TlsClientRules, TlsClient::Context> tls_contexts_;
  std::vector<const Shard*> kept_;                      ///< shards of the previous topology
  std::set<const Shard*> counted_on_;                   ///< likewise: whose counts a shard has
  std::vector<Located<std::string>> refusing_updates_;  ///< tables without a primary
  const TableSettings* refusing_table_ = nullptr;       ///< the last of them
  const TableSettings* stale_table_ = nullptr;          ///< the last whose searches are refused
  std::vector<Place> preferences_;        ///< read preferences of tables without roles
  std::set<std::string> strategies_;      ///< of the lines of one table, while it is judged
  std::set<std::string> all_strategies_;  ///< of all lines that were judged
  bool compares_ = false;                 ///< one of them uses `choices`
};

}  // namespace

std::shared_ptr<TlsServer> read_client_tls(const ClientTlsSettings& settings,
                                           const Topology* previous, Problems& problems) {
  const auto& certificates = settings.tls_certificate;
  if (!certificates) return nullptr;
  const auto& keys = settings.tls_key ? *settings.tls_key : *certificates;
  TlsServerRules rules;
  for (std::size_t i = 0; i < std::min(certificates->value.size(), keys.value.size()); ++i)
    rules.pairs.push_back({certificates->value[i], keys.value[i]});
  if (settings.tls_client_ca) rules.client_ca = settings.tls_client_ca->value;
  if (settings.tls_client_names) rules.client_names = settings.tls_client_names->value;
  if (previous != nullptr && previous->client_tls && previous->client_tls->rules() == rules)
    return previous->client_tls;  // clients resume their sessions; reread() follows the files
  auto server = TlsServer::make(std::move(rules));
  if (server) return *std::move(server);
  const auto& [role, why] = server.error();
  if (role == TlsFileError::Role::roots)
    problems.push_back({settings.tls_client_ca->at, "tls_client_ca: " + why});
  else if (role == TlsFileError::Role::key && settings.tls_key)
    problems.push_back({settings.tls_key->at, "tls_key: " + why});
  else
    problems.push_back({certificates->at, "tls_certificate: " + why});
  return nullptr;
}

void Topology::judge(const Settings& settings, Dialects dialects, Problems& problems,
                     Problems& notices) {
  judge_dialects(settings, dialects, problems, notices);
  AgentRegistry empty(1, settings.searchd.ha_period_karma.value);
  const Loops loops;
  Topology topology;
  topology.settings = settings.searchd;
  const Environment environment{.registry = empty, .loops = loops, .dialects = dialects};
  Builder builder(topology, environment, nullptr, problems, &notices);
  for (const auto& table : settings.tables) builder.table(table);
  read_client_tls(settings.searchd, nullptr, problems);
  builder.judge_instance();
  builder.rules().check_ping_interval();
}

std::shared_ptr<const Topology> Topology::build(const Settings& settings,
                                                const Environment& environment,
                                                const Topology* previous, Problems& problems) {
  const auto before = problems.size();
  auto topology = std::make_shared<Topology>();
  topology->settings = settings.searchd;
  if (const auto& limits = topology->settings; limits.admission.value != AdmissionMode::off) {
    topology->limits_connections = limits.ingress_connection_rate.value.limits();
    topology->limits_requests =
        limits.ingress_request_rate.value.limits() || limits.client_request_rate.value.limits();
  }
  topology->notes_clients = !settings.searchd.trusted_proxies.value.empty() ||
                            !settings.searchd.allow_origin.value.empty();
  const DialectSettings dialect{.collation = settings.searchd.collation.value,
                                .max_json_depth = settings.searchd.max_json_depth.value,
                                .scroll_key = settings.searchd.scroll_key};
  Builder builder(*topology, environment, previous, problems);
  for (const auto& table : settings.tables) topology->tables.push_back(builder.table(table));
  builder.rules().check_ping_interval();
  topology->hedge = builder.rules().hedge(settings.searchd.hedge);
  topology->client_tls = read_client_tls(settings.searchd, previous, problems);
  if (problems.size() != before) return nullptr;
  for (const auto& table : topology->tables) {
    topology->by_name_.emplace(table->name, table.get());
    if (table->routed) topology->routes_.push_back(table.get());
  }
  topology->add_endpoints(environment.dialects, dialect);
  std::ranges::stable_sort(topology->routes_, std::ranges::greater{},
                           [](const Table* table) { return table->route.size(); });
  return topology;
}

}  // namespace karmad
