#include "balancer/topology/topology.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "agent/dialect/judge_dialects.hpp"
#include "agent/transport/http/http_syntax.hpp"
#include "balancer/rules/admission/rate_gates.hpp"
#include "balancer/topology/former_shard.hpp"
#include "balancer/topology/seat_limits.hpp"
#include "config/closest.hpp"
#include "strategies/read_preference_text.hpp"
#include "strategies/registry.hpp"

namespace karmad {

namespace {

template <class T>
void insert_once(std::vector<std::shared_ptr<T>>& into, const std::shared_ptr<T>& item) {
  if (std::ranges::find(into, item) == into.end()) into.push_back(item);
}

/// The shortest interval of pings that say who suits (SD-003).
constexpr Micros kLeastInterval = 500ms;

/// Makes the tables of one topology; collects what is wrong with them.
class Builder {
 public:
  /// `notices`: judges only, and builds no mirrors.
  Builder(Topology& topology, const Topology::Surroundings& surroundings, const Topology* previous,
          Problems& problems, Problems* notices = nullptr)
      : topology_(topology),
        surroundings_(surroundings),
        registry_(surroundings.registry),
        previous_(previous),
        problems_(problems),
        notices_(notices) {}

  std::unique_ptr<Table> table(const TableSettings& from) {
    const auto& instance = topology_.settings;
    auto table = std::make_unique<Table>();
    table->name = from.name;
    if (const auto* kind = dialect_of(from, surroundings_.dialects, problems_))
      table->dialect = *kind;
    table->connect_timeout =
        from.agent_connect_timeout.value_or(instance.agent_connect_timeout).value;
    table->query_timeout = from.agent_query_timeout.value_or(instance.agent_query_timeout).value;
    if (const auto& count =
            from.agent_retry_count ? from.agent_retry_count : instance.agent_retry_count)
      table->retry_count = count->value;
    table->preference = preference(from);
    table->retry_rules = retry_rules(from);
    const auto& first_byte = from.agent_first_byte_timeout ? from.agent_first_byte_timeout
                                                           : instance.agent_first_byte_timeout;
    if (first_byte) table->first_byte_timeout = first_byte->value;
    const auto& timeouts = from.search_timeouts ? from.search_timeouts : instance.search_timeouts;
    if (timeouts) table->search_timeouts = timeouts->value;
    if (from.hedge) table->hedge = hedge(*from.hedge);
    const auto& step = from.hedge_step ? from.hedge_step : instance.hedge_step;
    if (step) table->hedge_step = step->value;
    table->hedge_max = from.hedge_max.value_or(instance.hedge_max).value;
    table->updates = updates(from);
    table->consistency = from.consistency.value;
    if (notices_ == nullptr) limit_requests(from, *table);
    table->partial_results = from.partial_results.value_or(instance.partial_results).value;
    if (table->dialect.is_routed()) {
      table->route = from.route.value;
      table->routed = table->dialect.make_routed(
          {.table = from.name,
           .route = from.route.value,
           .path = from.path ? std::optional(from.path->value) : std::nullopt,
           .reads = from.reads});
    }
    for (const auto& shard : from.shards)
      table->shards.push_back(this->shard(from, shard, table->preference.has_value()));
    if (notices_ != nullptr) return table;
    for (std::size_t line = 0; line < from.blackholes.size(); ++line)
      for (const auto& mirror : from.blackholes[line].mirrors) {
        table->blackholes.push_back({registry_.at(mirror.address), mirror.tables, line});
        insert_once(topology_.agents, table->blackholes.back().agent);
      }
    return table;
  }

  HedgeSetting hedge(const Located<std::string>& text) {
    auto read = parse_hedge(text.value);
    if (read) return *read;
    problem(text.at, read.error());
    return {};
  }

  /// Where mirrors are told apart, pings are what selection lives on.
  void check_interval() {
    const auto& interval = topology_.settings.ha_ping_interval;
    if (needs_pings_.empty() || interval.value >= kLeastInterval) return;
    problem(interval.at, fmt::format("ha_ping_interval is at least 500ms (and not 0) where a read "
                                     "preference, roles, tags or a ping_type are configured, as "
                                     "for table {}",
                                     needs_pings_));
  }

 private:
  std::shared_ptr<Shard> shard(const TableSettings& table, const ShardSettings& from,
                               bool preferred) {
    const auto& instance = topology_.settings;
    const auto name = from.ha_strategy    ? *from.ha_strategy
                      : table.ha_strategy ? *table.ha_strategy
                      : instance.ha_strategy
                          ? *instance.ha_strategy
                          : Located<std::string>{preferred ? "leastops" : "random", {}};
    auto strategy = make_strategy(name.value, {.tolerated_errors = instance.dead_after.value});
    if (!strategy)
      problems_.push_back({name.at, fmt::format("ha_strategy '{}' is unknown; known are {}{}",
                                                name.value, fmt::join(strategy_names(), ", "),
                                                suggestion(name.value, strategy_names()))});
    const auto* kind = kind_of(table, from);
    const auto pings = pings_of(table, from, kind);
    auto members = members_of(from);
    const bool aware = preferred || (kind != nullptr && kind->describes) ||
                       std::ranges::any_of(members, [](const auto& m) { return m.role || m.tags; });
    if (aware && needs_pings_.empty() && !is_unpinged(table, from)) needs_pings_ = table.name;
    if (notices_ != nullptr) {
      judge_mirrors(table, from, name.value, state_of(from, pings, members).kind);
      return nullptr;
    }
    const auto identity = identity_of(table, from, name.value, aware, pings);
    const auto protection = protection_identity(table);
    Agents agents;
    for (const auto& mirror : from.mirrors) {
      auto agent = registry_.at(mirror.address);
      insert_once(topology_.agents, agent);
      if (pings.kind != nullptr) insert_once(topology_.pinged_agents, agent);
      limit_seats(*agent, max_in_flight(table, mirror));
      agents.push_back(std::move(agent));
    }
    const auto same = same_mirrors(table.name, identity);
    if (same && same->protection_identity == protection) return same;
    if (!strategy) return nullptr;
    const auto* table_before = previous_ != nullptr ? previous_->find(table.name) : nullptr;
    const auto former =
        same ? former_shard(same, agents, from) : former_shard(table_before, agents, from);
    auto shard = std::make_shared<Shard>();
    shard->mirrors = same ? same->mirrors
                          : std::make_shared<MirrorSet>(
                                mirrors_of(from, agents, former),
                                SetOptions{.strategy = std::move(strategy),
                                           .strategy_name = name.value,
                                           .karma = {.compound = instance.karma_compound.value},
                                           .period = instance.ha_period_karma.value,
                                           .workers = surroundings_.workers,
                                           .state = state_of(from, pings, members),
                                           .members = std::move(members),
                                           .selector = surroundings_.selector,
                                           .before = former.shard ? former.shard->mirrors : nullptr,
                                           .places = former.places},
                                surroundings_.loops);
    shard->protection = std::make_unique<Protection>(from.mirrors.size(), protection_rules(table),
                                                     surroundings_.workers);
    if (former.shard) shard->protection->take_over(*former.shard->protection, former.places);
    shard->pings = pings;
    shard->pings.always = aware;
    shard->aware = aware;
    shard->retry_count = from.retry_count;
    shard->persistent = from.persistent;
    shard->identity = identity;
    shard->protection_identity = protection;
    return shard;
  }

  std::vector<std::unique_ptr<Mirror>> mirrors_of(const ShardSettings& from, const Agents& agents,
                                                  const FormerShard& former) const {
    std::vector<std::unique_ptr<Mirror>> mirrors;
    for (std::size_t i = 0; i < agents.size(); ++i) {
      auto record = former.places[i]
                        ? (*former.shard->mirrors)[*former.places[i]].record
                        : std::make_shared<MirrorRecord>(surroundings_.workers,
                                                         topology_.settings.ha_period_karma.value);
      mirrors.push_back(std::make_unique<Mirror>(agents[i], from.mirrors[i].tables,
                                                 std::move(record), from.mirrors[i].weight.value));
    }
    return mirrors;
  }

  const Located<std::string>& max_in_flight(const TableSettings& table,
                                            const MirrorSettings& mirror) const {
    return mirror.max_in_flight  ? *mirror.max_in_flight
           : table.max_in_flight ? *table.max_in_flight
                                 : topology_.settings.max_in_flight;
  }

  /// Where a table's updates go: as it says, else as its dialect allows.
  Updates updates(const TableSettings& table) const {
    const auto* kind = find_dialect(surroundings_.dialects, table.dialect.value);
    const bool anywhere =
        table.updates.at.line == 0 && kind != nullptr && kind->capabilities.updates_anywhere;
    return anywhere ? Updates::any : table.updates.value;
  }

  /// What is wrong with the mirrors of a line, and what of their settings has no effect.
  void judge_mirrors(const TableSettings& table, const ShardSettings& from,
                     std::string_view strategy, SetKind kind) {
    const auto& mirrors = from.mirrors;
    for (const auto& mirror : mirrors) {
      if (const auto limit = parse_seat_limit(max_in_flight(table, mirror).value); !limit)
        problem(max_in_flight(table, mirror).at, limit.error());
      if (mirror.weight.at.line == 0) continue;
      if (mirrors.size() == 1)
        warn(mirror.weight.at, "weight has no effect: the line has one agent");
      else if (!draws_by_weight(strategy) && make_strategy(strategy, {}) != nullptr)
        warn(mirror.weight.at, fmt::format("weight has no effect with ha_strategy = {}", strategy));
    }
    const bool said = std::exchange(said_of_, &table) == &table;
    if (said || mirrors.size() < 2 || kind != SetKind::flat || updates(table) == Updates::any)
      return;
    notices_->push_back(
        {from.at, fmt::format("updates of table {} will be refused: none of its {} mirrors is the "
                              "primary; name it with role=primary, or, where the mirrors pass "
                              "updates on to each other, set updates = any",
                              table.name, mirrors.size())});
  }

  void warn(const Place& at, std::string message) {
    notices_->push_back({at, std::move(message), Problem::Severity::warning});
  }

  /// A table keeps its limiter, and with it its tokens, as long as it has a rate.
  void limit_requests(const TableSettings& from, Table& table) const {
    const auto& rate = from.request_rate.value;
    if (!rate.limits() || topology_.settings.admission.value == AdmissionMode::off) return;
    table.request_rule = rule_of(rate, from.request_burst.value);
    const auto* before = previous_ != nullptr ? previous_->find(table.name) : nullptr;
    table.requests =
        before != nullptr && before->requests ? before->requests : std::make_shared<RateLimiter>();
  }

  void limit_seats(const Agent& agent, const Located<std::string>& text) {
    const auto limit = parse_seat_limit(text.value);
    if (!limit) return problem(text.at, limit.error());
    if (limit->limits() && topology_.settings.admission.value != AdmissionMode::off)
      add_limit(topology_.seats.try_emplace(&agent, seat_rules(topology_.settings)).first->second,
                *limit);
  }

  RetryRules retry_rules(const TableSettings& table) const {
    const auto& instance = topology_.settings;
    const auto& max_attempts = table.max_attempts ? table.max_attempts : instance.max_attempts;
    return {.retry_reads = instance.retry_reads.value,
            .retry_writes = instance.retry_writes.value,
            .overload_max_retries = instance.overload_max_retries.value,
            .overload_backoff_base = instance.overload_backoff_base.value,
            .overload_backoff_cap = instance.overload_backoff_cap.value,
            .overload_retarget = instance.overload_retarget.value,
            .adaptive_retries = instance.adaptive_retries.value,
            .throttle_max_retries = instance.throttle_max_retries.value,
            .throttle_max_wait = instance.throttle_max_wait.value,
            .zone_max_retries = instance.zone_max_retries.value,
            .max_attempts = max_attempts ? std::optional(max_attempts->value) : std::nullopt,
            .unavailable_mark = instance.unavailable_for.value};
  }

  ProtectionRules protection_rules(const TableSettings& table) const {
    const auto& instance = topology_.settings;
    ProtectionRules rules;
    rules.budget.percent = table.retry_budget_percent.value_or(instance.retry_budget_percent).value;
    rules.budget.at_least = instance.retry_budget_min.value;
    if (table.breaker.value_or(instance.breaker).value)
      rules.breaker =
          BreakerRules{.reads = instance.breaker_reads.value,
                       .writes = instance.breaker_writes.value,
                       .window = instance.breaker_window.value,
                       .probe_every = std::max(instance.ha_ping_interval.value, Micros(100ms))};
    return rules;
  }

  /// The read preference of the table, whole, or else that of the instance (SS-081).
  std::optional<ReadPreference> preference(const TableSettings& table) {
    const auto& instance = topology_.settings;
    if (table.read_preference)
      return preference(*table.read_preference, table.tag_sets, table.max_staleness);
    if (instance.read_preference)
      return preference(*instance.read_preference, instance.tag_sets, instance.max_staleness);
    return std::nullopt;
  }

  std::optional<ReadPreference> preference(const Located<std::string>& text,
                                           const std::optional<Located<std::string>>& tag_sets,
                                           const std::optional<Located<Micros>>& max_staleness) {
    auto read = parse_read_preference(text.value);
    if (!read) {
      problem(text.at, read.error().why);
      return std::nullopt;
    }
    if (tag_sets) {
      auto sets = parse_tag_sets(tag_sets->value);
      if (!sets) {
        problem(tag_sets->at, sets.error());
      } else {
        read->tag_sets = *std::move(sets);
      }
    }
    if (max_staleness && max_staleness->value > Micros{0})
      read->max_staleness = std::chrono::duration_cast<std::chrono::seconds>(max_staleness->value);
    if (const auto wrong = invalid(*read)) problem(text.at, wrong->why);
    return *read;
  }

  const Located<std::string>& ping_type(const TableSettings& table,
                                        const ShardSettings& from) const {
    return from.ping_type    ? *from.ping_type
           : table.ping_type ? *table.ping_type
                             : topology_.settings.ping_type;
  }

  bool is_unpinged(const TableSettings& table, const ShardSettings& from) const {
    return ping_type(table, from).value == "none";
  }

  /// What is configured, also when pings are off: whether a table needs them hangs on it.
  const PingKind* kind_of(const TableSettings& table, const ShardSettings& from) {
    if (is_unpinged(table, from)) return nullptr;
    const auto& type = ping_type(table, from);
    const auto* kind = ping_kind(type.value);
    if (kind == nullptr)
      problem(type.at, fmt::format("ping_type '{}' is unknown; known are {}{}", type.value,
                                   fmt::join(ping_kind_names(), ", "),
                                   suggestion(type.value, ping_kind_names())));
    return kind;
  }

  ShardPings pings_of(const TableSettings& table, const ShardSettings& from,
                      const PingKind* kind) const {
    const auto& instance = topology_.settings;
    const auto path = from.ping_path    ? from.ping_path
                      : table.ping_path ? table.ping_path
                                        : instance.ping_path;
    if (kind == nullptr || instance.ha_ping_interval.value == Micros{0}) return {};
    return {.kind = kind, .path = path ? path->value : std::string()};
  }

  std::vector<Member> members_of(const ShardSettings& from) {
    std::vector<Member> members(from.mirrors.size());
    std::optional<std::size_t> primary;
    for (std::size_t i = 0; i < members.size(); ++i) {
      const auto& mirror = from.mirrors[i];
      if (mirror.role) {
        members[i].role = role_named(mirror.role->value);
        if (!members[i].role || members[i].role == Role::unknown)
          problem(mirror.role->at,
                  fmt::format("role '{}' is unknown; known are {}", mirror.role->value,
                              fmt::join(std::span(kRoleNames).subspan(1), ", ")));
        if (members[i].role == Role::standalone && members.size() > 1)
          problem(mirror.role->at,
                  "role=standalone is for a mirror alone in its set; mirrors that are all alike "
                  "are role=router");
        if (members[i].role == Role::primary && primary)
          problem(mirror.role->at, fmt::format("a set has one primary, and {} is it already",
                                               text(from.mirrors[*primary].address)));
        if (members[i].role == Role::primary) primary = i;
      }
      if (mirror.tags) {
        auto tags = parse_tags(mirror.tags->value, ';');
        if (tags) {
          members[i].tags = *std::move(tags);
        } else {
          problem(mirror.tags->at, tags.error());
        }
      }
    }
    return members;
  }

  /// What the set is before anything is heard of it. Roles in the configuration make a set of
  /// roles; pings that only tell who is alive a flat one; what describes itself decides itself.
  SetSettings state_of(const ShardSettings& from, const ShardPings& pings,
                       const std::vector<Member>& members) const {
    const auto& instance = topology_.settings;
    SetSettings state{.ping_interval = instance.ha_ping_interval.value,
                      .pinged = pings.kind != nullptr,
                      .tags_in_flat = instance.tags_in_flat.value};
    if (from.set_name) state.name = from.set_name->value;
    const bool roles = std::ranges::any_of(members, [](const auto& m) {
      return m.role && *m.role != Role::router && *m.role != Role::standalone;
    });
    if (from.mirrors.size() == 1) {
      state.kind = pings.kind == nullptr ? SetKind::balanced : SetKind::direct;
    } else if (roles) {
      state.kind = SetKind::roles;
    } else if (pings.kind == nullptr || !pings.kind->tells_roles) {
      state.kind = SetKind::flat;
    }
    return state;
  }

  void problem(const Place& at, std::string message) {
    problems_.push_back({at, std::move(message)});
  }

  std::string protection_identity(const TableSettings& table) const {
    const auto rules = protection_rules(table);
    auto text = fmt::format("{} {}", rules.budget.percent, rules.budget.at_least);
    if (rules.breaker)
      fmt::format_to(std::back_inserter(text), " {} {} {} {}", rules.breaker->reads,
                     rules.breaker->writes, rules.breaker->window.count(),
                     rules.breaker->probe_every.count());
    return text;
  }

  /// Everything a mirror set is made from: a reload that changes none of it keeps the set.
  std::string identity_of(const TableSettings& table, const ShardSettings& from,
                          std::string_view strategy, bool aware, const ShardPings& pings) const {
    const auto& instance = topology_.settings;
    const auto text_of = [](const std::optional<Located<std::string>>& a,
                            const std::optional<Located<std::string>>& b) {
      return a ? a->value : b ? b->value : std::string();
    };
    return fmt::format("{} {} {} {} {} {} {} {} {} {} {} {}", table.name, from.line, strategy,
                       from.persistent, instance.dead_after.value, instance.karma_compound.value,
                       text_of(table.ping_type, instance.ping_type),
                       text_of(table.ping_path, instance.ping_path),
                       aware ? instance.ha_ping_interval.value.count() : 0,
                       instance.tags_in_flat.value, aware, pings.kind != nullptr);
  }

  std::shared_ptr<Shard> same_mirrors(const std::string& table, const std::string& identity) const {
    const auto* before = previous_ != nullptr ? previous_->find(table) : nullptr;
    if (before == nullptr) return nullptr;
    for (const auto& shard : before->shards)
      if (shard->identity == identity) return shard;
    return nullptr;
  }

  Topology& topology_;
  const Topology::Surroundings& surroundings_;
  std::string needs_pings_;  ///< the first table whose mirrors are told apart by pings
  AgentRegistry& registry_;
  const Topology* previous_;
  Problems& problems_;
  Problems* notices_;
  const TableSettings* said_of_ = nullptr;  ///< that its updates will be refused
};

}  // namespace

void Topology::judge(const Settings& settings, Dialects dialects, Problems& problems,
                     Problems& notices) {
  judge_dialects(settings, dialects, problems, notices);
  AgentRegistry empty(1, kLeastInterval);
  const Loops loops;
  Topology topology;
  topology.settings = settings.searchd;
  const Surroundings surroundings{.registry = empty, .loops = loops, .dialects = dialects};
  Builder builder(topology, surroundings, nullptr, problems, &notices);
  for (const auto& table : settings.tables) builder.table(table);
  builder.check_interval();
  builder.hedge(settings.searchd.hedge);
}

std::shared_ptr<const Topology> Topology::build(const Settings& settings,
                                                const Surroundings& surroundings,
                                                const Topology* previous, Problems& problems) {
  const auto before = problems.size();
  auto topology = std::make_shared<Topology>();
  topology->settings = settings.searchd;
  if (const auto& limits = topology->settings; limits.admission.value != AdmissionMode::off) {
    topology->limits_connections = limits.ingress_connection_rate.value.limits();
    topology->limits_requests =
        limits.ingress_request_rate.value.limits() || limits.client_request_rate.value.limits();
  }
  const DialectSettings dialect{.collation = settings.searchd.collation.value,
                                .max_json_depth = settings.searchd.max_json_depth.value};
  topology->serve(surroundings.dialects, dialect);
  Builder builder(*topology, surroundings, previous, problems);
  for (const auto& table : settings.tables) topology->tables.push_back(builder.table(table));
  builder.check_interval();
  topology->hedge = builder.hedge(settings.searchd.hedge);
  if (problems.size() != before) return nullptr;
  for (const auto& table : topology->tables) {
    topology->by_name_.emplace(table->name, table.get());
    if (table->routed) topology->routes_.push_back(table.get());
  }
  std::ranges::stable_sort(topology->routes_, std::ranges::greater{},
                           [](const Table* table) { return table->route.size(); });
  return topology;
}

}  // namespace karmad
