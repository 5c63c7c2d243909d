#include "balancer/topology/rule_reader.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "config/settings/attempts.hpp"
#include "config/settings/units.hpp"
#include "config/text/closest.hpp"
#include "config/text/source_text.hpp"
#include "strategies/kinds/registry.hpp"
#include "strategies/read_preference.hpp"

namespace karmad {
namespace {

/// Shortest interval of pings that decide about selection (SD-003).
constexpr Micros kLeastInterval = 500ms;

bool is_unpinged(const InheritedByLines& line) {
  return line.ping_type.value == "none";
}

/// The kind of a set before its first answer: roles if the configuration has roles; flat if pings
/// only show that a mirror is alive; otherwise unknown, until a description decides.
SetKind initial_kind(const ShardPings& pings, const std::vector<Member>& members) {
  const bool roles = std::ranges::any_of(members, [](const auto& m) {
    return m.role && *m.role != Role::router && *m.role != Role::standalone;
  });
  if (members.size() == 1) return pings.kind == nullptr ? SetKind::balanced : SetKind::direct;
  if (roles) return SetKind::roles;
  if (pings.kind == nullptr || !pings.kind->tells_roles) return SetKind::flat;
  return SetKind::unknown;
}

}  // namespace

std::expected<SlotLimit, std::string> parse_slot_limit(std::string_view text) {
  constexpr std::uint64_t kMost = 1'000'000;
  const auto word = lower(text);
  if (word == "unlimited") return SlotLimit{};
  if (word == "auto") return SlotLimit{.automatic = true};
  const auto number = parse_count(text);
  if (number && *number <= kMost) return SlotLimit{.most = static_cast<unsigned>(*number)};
  return std::unexpected(fmt::format(
      "max_in_flight is unlimited, auto or a number up to {}, not {}", kMost, in_quotes(text)));
}

AgentSlotRules slot_rules(const AgentLimitSettings& settings, AdmissionMode admission) {
  AgentSlotRules rules;
  rules.enforced = admission == AdmissionMode::enforce;
  rules.measured = {.least = settings.max_in_flight_min.value,
                    .most = settings.max_in_flight_max.value,
                    .initial = settings.max_in_flight_initial.value,
                    .slack = settings.max_in_flight_slack.value,
                    .smoothing = settings.max_in_flight_smoothing.value / 100.0};
  return rules;
}

void add_limit(AgentSlotRules& rules, const SlotLimit& limit) {
  rules.automatic = rules.automatic || limit.automatic;
  if (limit.most == 0) return;
  rules.most = rules.most == 0 ? limit.most : std::min(rules.most, limit.most);
}

std::optional<TlsClientRules> agent_tls_rules(const MirrorSettings& mirror,
                                              const TableSettings& table) {
  if (mirror.agent_tls.value == AgentTls::no) return std::nullopt;
  const auto text_of = [](const auto& setting) { return setting ? setting->value : ""; };
  return TlsClientRules{.ca = text_of(table.agent_tls_ca),
                        .name = text_of(mirror.agent_tls_name),
                        .certificate = text_of(table.agent_tls_certificate),
                        .verify = mirror.agent_tls.value == AgentTls::yes};
}

RetryRules RuleReader::retries(const TableSettings& table) const {
  return {
      .retry_reads = searchd_.retry_reads.value,
      .retry_writes = searchd_.retry_writes.value,
      .overload_max_retries = searchd_.overload_max_retries.value,
      .overload_backoff_base = searchd_.overload_backoff_base.value,
      .overload_backoff_cap = searchd_.overload_backoff_cap.value,
      .overload_retarget = searchd_.overload_retarget.value,
      .adaptive_retries = searchd_.adaptive_retries.value,
      .throttle_max_retries = searchd_.throttle_max_retries.value,
      .throttle_max_wait = searchd_.throttle_max_wait.value,
      .zone_max_retries = searchd_.zone_max_retries.value,
      .max_attempts = table.max_attempts ? std::optional(table.max_attempts->value) : std::nullopt,
      .timeout_steps =
          table.search_timeouts ? static_cast<unsigned>(table.search_timeouts->value.size()) : 0,
      .unavailable_mark = searchd_.unavailable_for.value};
}

ProtectionRules RuleReader::protection(const TableSettings& table,
                                       const ShardSettings& line) const {
  ProtectionRules rules;
  rules.budget.percent = table.retry_budget_percent.value;
  rules.budget.at_least = searchd_.retry_budget_min.value;
  const auto retries = retry_counts(searchd_, table, line);
  auto& of_one_request = rules.budget.of_one_request;
  of_one_request = std::max(of_one_request, retries.throttled);
  if (table.agent_retry_count || line.retry_count)
    of_one_request = std::max(of_one_request, retries.ordinary);
  if (table.breaker.value)
    rules.breaker =
        BreakerRules{.reads = searchd_.breaker_reads.value,
                     .writes = searchd_.breaker_writes.value,
                     .window = searchd_.breaker_window.value,
                     .probe_every = std::max(searchd_.ha_ping_interval.value, Micros(100ms))};
  if (table.outlier.value != Outlier::off) rules.outliers = outliers(table.outlier.value);
  return rules;
}

OutlierRules RuleReader::outliers(Outlier by) const {
  return {.by_failures = by != Outlier::latency,
          .by_latency = by != Outlier::failures,
          .failures_in_a_row = searchd_.outlier_failures.value,
          .failure_percent = searchd_.outlier_failure_percent.value,
          .latency_factor = searchd_.outlier_latency_factor.value,
          .time = searchd_.outlier_time.value,
          .longest_time = searchd_.outlier_longest_time.value,
          .most_percent = searchd_.outlier_most_percent.value,
          .panic_percent = searchd_.outlier_panic_percent.value};
}

HedgeSetting RuleReader::hedge(const Located<std::string>& text) {
  auto read = parse_hedge(text.value);
  if (read) return *read;
  problem(text.at, "hedge: " + read.error());
  return {};
}

std::optional<ReadPreference> RuleReader::read_preference(const InheritedByTables& table) {
  std::vector<Tags> tag_sets;
  if (table.tag_sets) {
    auto sets = parse_tag_sets(table.tag_sets->value);
    if (!sets) {
      report_tags(*table.tag_sets, "|,", sets.error());
    } else {
      tag_sets = *std::move(sets);
    }
  }
  if (!table.read_preference) return std::nullopt;
  const auto& text = *table.read_preference;
  auto read = parse_read_preference(text.value);
  if (!read) {
    problem(text.at, read.error().why);
    return std::nullopt;
  }
  const auto refuse = [&](std::string_view key, const Place& at) {
    problem(at,
            fmt::format("{} is given twice: read_preference = {} has it, too", key, text.value));
  };
  if (table.tag_sets && !read->tag_sets.empty()) refuse("tag_sets", table.tag_sets->at);
  if (table.max_staleness && read->max_staleness) refuse("max_staleness", table.max_staleness->at);
  if (table.tag_sets) read->tag_sets = std::move(tag_sets);
  if (table.max_staleness && table.max_staleness->value > Micros{0})
    read->max_staleness =
        std::chrono::duration_cast<std::chrono::seconds>(table.max_staleness->value);
  if (const auto wrong = invalid(*read)) problem(text.at, wrong->why);
  return *read;
}

ShardDefinition RuleReader::shard(const TableSettings& table, const ShardSettings& line,
                                  bool preferred) {
  ShardDefinition rules;
  rules.strategy = strategy(line, preferred);
  rules.strategy_settings = {.dead_after = searchd_.dead_after.value};
  if (table.choices) rules.strategy_settings.choices = table.choices->value;
  rules.karma.compound = searchd_.karma_compound.value;
  if (table.slow_start)
    rules.slow_start.duration = table.slow_start->value;
  else if (reacts_at_once(rules.strategy))
    rules.slow_start.duration = kSlowStart;
  const auto* kind = ping_kind(line);
  rules.members = members(line);
  rules.tracks_state =
      preferred || (kind != nullptr && kind->describes) ||
      std::ranges::any_of(rules.members, [](const auto& m) { return m.role || m.tags; });
  if (rules.tracks_state && needs_pings_.empty() && !is_unpinged(line)) needs_pings_ = table.name;
  rules.pings = pings(line, kind);
  rules.pings.always = rules.tracks_state;
  rules.state = {.kind = initial_kind(rules.pings, rules.members),
                 .name = line.set_name ? std::optional(line.set_name->value) : std::nullopt,
                 // The lag of a mirror matters only if selection uses its state.
                 .ping_interval = rules.tracks_state ? searchd_.ha_ping_interval.value : Micros{0},
                 .pinged = rules.pings.kind != nullptr,
                 .tags_in_flat = searchd_.tags_in_flat.value};
  for (const auto& mirror : line.mirrors) rules.holders.push_back({mirror.address, mirror.tables});
  rules.protection_rules = protection(table, line);
  rules.retry_count = line.retry_count;
  rules.persistent = line.persistent;
  return rules;
}

/// Whether clients send credentials that are for karmad, and not for agents.
bool RuleReader::asks_clients() const {
  return searchd_.auth || std::ranges::any_of(searchd_.listen, [](const Listen& each) {
           return each.auth != nullptr;
         });
}

AgentCredentials RuleReader::credentials(const TableSettings& table, bool passes_fields) const {
  const bool passes = table.pass_authorization
                          ? table.pass_authorization->value == PassAuthorization::yes
                          : passes_fields && !table.credentials && !asks_clients();
  const bool adds = !table.authorization.empty();
  return {.own = table.authorization,
          .passes_clients = passes,
          .differs = passes_fields ? adds || !passes : adds || passes};
}

void RuleReader::check(const InheritedByLines& level) {
  strategy(level, false);
  ping_kind(level);
}

void RuleReader::check(const InheritedByTables& level) {
  check(static_cast<const InheritedByLines&>(level));
  read_preference(level);
  hedge(level.hedge);
  if (const auto limit = parse_slot_limit(level.max_in_flight.value); !limit)
    problem(level.max_in_flight.at, limit.error());
}

std::string RuleReader::strategy(const InheritedByLines& line, bool preferred) {
  if (!line.ha_strategy) return preferred ? "leastops" : "random";
  const auto& [name, at, key] = *line.ha_strategy;
  if (make_strategy(name, {}) == nullptr)
    problem(at, fmt::format("ha_strategy '{}' is unknown; known are {}{}", name,
                            fmt::join(strategy_names(), ", "), suggestion(name, strategy_names())));
  return name;
}

/// The configured kind, also if pings are disabled: it decides whether a table needs them.
const PingKind* RuleReader::ping_kind(const InheritedByLines& line) {
  if (is_unpinged(line)) return nullptr;
  const auto& [name, at, key] = line.ping_type;
  const auto* kind = karmad::ping_kind(name);
  if (kind == nullptr)
    problem(at,
            fmt::format("ping_type '{}' is unknown; known are {}{}", name,
                        fmt::join(ping_kind_names(), ", "), suggestion(name, ping_kind_names())));
  return kind;
}

ShardPings RuleReader::pings(const ShardSettings& line, const PingKind* kind) const {
  if (kind == nullptr || searchd_.ha_ping_interval.value == Micros{0}) return {};
  return {.kind = kind, .path = line.ping_path ? line.ping_path->value : std::string()};
}

std::vector<Member> RuleReader::members(const ShardSettings& line) {
  std::vector<Member> members(line.mirrors.size());
  std::optional<std::size_t> primary;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const auto& mirror = line.mirrors[i];
    if (mirror.role) {
      members[i].role = role_named(mirror.role->value);
      check_role(line, *mirror.role, members[i]);
      if (members[i].role == Role::primary && primary)
        problem(mirror.role->at, fmt::format("a set has one primary, and {} already has this role",
                                             text(line.mirrors[*primary].address)));
      if (members[i].role == Role::primary) primary = i;
    }
    if (mirror.tags) {
      members[i].tags = tags(*mirror.tags);
    }
  }
  return members;
}

Tags RuleReader::tags(const Located<std::string>& text) {
  auto read = parse_tags(text.value, ';');
  if (!read) report_tags(text, ";", read.error());
  return std::move(read).value_or(Tags());
}

void RuleReader::report_tags(const Located<std::string>& text, std::string_view separators,
                             const std::string& error) {
  bool found = false;
  for (std::size_t begin = 0; begin <= text.value.size();) {
    const auto end = std::min(text.value.find_first_of(separators, begin), text.value.size());
    const auto tag = std::string_view(text.value).substr(begin, end - begin);
    if (const auto read = parse_tags(tag, separators.back()); !read) {
      problem(text.at, read.error());
      found = true;
    }
    begin = end + 1;
  }
  if (!found) problem(text.at, error);
}

void RuleReader::check_role(const ShardSettings& line, const Located<std::string>& role,
                            const Member& read) {
  if (!read.role || read.role == Role::unknown)
    problem(role.at, fmt::format("role '{}' is unknown; known are {}", role.value,
                                 fmt::join(std::span(kRoleNames.all()).subspan(1), ", ")));
  if (read.role == Role::standalone && line.mirrors.size() > 1)
    problem(role.at,
            "role=standalone is for the only mirror of a set; mirrors of equal rank have "
            "role=router");
}

void RuleReader::check_ping_interval() {
  const auto& interval = searchd_.ha_ping_interval;
  if (needs_pings_.empty() || interval.value >= kLeastInterval) return;
  problem(interval.at, fmt::format("ha_ping_interval must be at least 500ms (and not 0) if a read "
                                   "preference, roles, tags or a ping_type are configured, as "
                                   "for table {}",
                                   needs_pings_));
}

}  // namespace karmad
