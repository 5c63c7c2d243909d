#include "balancer/selection/shard_query.hpp"

#include "agent/dialect/plan/plan.hpp"
#include "balancer/core/request_fields.hpp"
#include "balancer/selection/mirror_choice.hpp"
#include "balancer/selection/set_mirrors.hpp"

namespace karmad {
namespace {

/// If no retries are configured, a list of timeouts allows as many as it has entries (CO-044).
void fill_retries(const Topology& topology, const Table& table, const Shard& shard,
                  RetrySubject& subject) {
  subject.mirrors = shard.mirrors->size();
  auto& ordinary = subject.ordinary;
  ordinary.absolute_of_line = shard.retry_count;
  ordinary.per_mirror = table.retry_count;
  ordinary.delay = topology.settings.agent_retry_delay.value;
  const auto steps = table.timeouts.searches.size();
  if (steps > 1 && !ordinary.per_mirror)
    ordinary.absolute_of_line =
        ordinary.absolute_of_line.value_or(static_cast<unsigned>(steps - 1));
}

void fill_subject(const Query& query, const ShardQuery& shard_query, const Shard& shard,
                  RetrySubject& subject) {
  const auto& options = shard_query.parsed.options;
  subject.kind = shard_query.parsed.read           ? RequestClass::read
                 : shard_query.parsed.unclassified ? RequestClass::unclassified
                                                   : RequestClass::write;
  subject.follow_up = shard_query.parsed.follow_up;
  subject.has_idempotency_key = !query.request.fields.find(kIdempotencyKey).empty();
  auto& ordinary = subject.ordinary;
  ordinary.per_mirror_of_query = options.retry_count;
  if (options.retry_count) ordinary.absolute_of_line = shard.retry_count;
  if (options.retry_delay) ordinary.delay = *options.retry_delay;
}

Hedging hedging_of(const Topology& topology, const Table& table,
                   const std::optional<HedgeSetting>& of_request,
                   const std::optional<ReadPreference>& preference) {
  // The usual case, with the same result as the code below.
  const bool asked_for = of_request || (preference && preference->hedge);
  if (table.hedging.after.kind == HedgeSetting::Kind::off && !asked_for) return {};
  const HedgeWords words{.request = of_request,
                         .preference = preference ? preference->hedge : std::nullopt,
                         .table = table.hedging.after,
                         .instance = topology.hedge,
                         .step = table.hedging.step};
  return hedging_in_force(words, topology.settings.request_timeout.value);
}

/// The effective hedging from the request, its read preference, the table and the instance.
Hedging hedging_of(const Query& query, const ShardQuery& shard_query) {
  const auto& topology = *query.topology;
  const auto& table = shard_query.table;
  if (!shard_query.parsed.read || shard_query.parsed.follow_up || query.request.rest != nullptr ||
      topology.settings.hedge_disabled.value)
    return {};
  if (shard_query.parsed.should_use_primary)
    return hedging_of(topology, table, query.request.hedge, std::nullopt);
  return hedging_of(topology, table, query.request.hedge,
                    query.request.preference ? query.request.preference : table.preference);
}

/// Interval of probes to unreachable mirrors by queries. Pings are better probes, where they are
/// enabled and answered.
Micros probe_every(const Topology& topology, const Shard& shard) {
  if (shard.pings.kind == nullptr) return std::chrono::seconds(1);
  return 10 * topology.settings.ha_ping_interval.value;
}

/// What is the same for all requests of a selection.
void fill_common(const Topology& topology, const Table& table, const Shard& shard,
                 const Selection& selection, ShardRules& rules) {
  const auto& settings = topology.settings;
  rules.need = &selection.need();
  rules.any_mirror = selection.at(shard) == nullptr;
  rules.any_takes_updates = selection.any_takes_updates();
  rules.window = selection.window();
  rules.retry = &table.retry_rules;
  fill_retries(topology, table, shard, rules.subject);
  rules.hedge_max = table.hedging.max;
  rules.connect_timeout = table.timeouts.connect;
  rules.selection_timeout = settings.selection_timeout.value;
  rules.probe_every = probe_every(topology, shard);
  rules.pings_describe = shard.pings.kind != nullptr && shard.pings.kind->describes;
  rules.max_waiting_selections = settings.max_waiting_selections.value;
}

/// The criteria of the choice of a line of attempts that starts now.
SelectionCriteria first_choice(const PickSubject& of, std::optional<std::uint64_t> min_generation,
                               SelectionCriteria (MirrorChoice::*criteria)() const) {
  auto& worker = of.worker;
  SetMirrors mirrors(*of.shard.mirrors, of.topology.settings, worker.loop.index);
  ShardRules rules;
  fill_search_rules(of.topology, of.table, of.shard, of.selection, rules);
  rules.min_generation = min_generation;
  const ChainLearned line;
  const ShardInputs moment{.now = Loop::now(),
                           .random = worker.loop.random,
                           .protection = *of.shard.protection,
                           .mirrors = mirrors,
                           .counters = worker.counters};
  return (MirrorChoice(rules, line, moment).*criteria)();
}

}  // namespace

ShardRules rules_for(const Query& query, const ShardQuery& shard_query, const Shard& shard,
                     std::size_t shard_at, std::optional<std::size_t> only) {
  ShardRules rules;
  fill_common(*query.topology, shard_query.table, shard, shard_query.selection, rules);
  fill_subject(query, shard_query, shard, rules.subject);
  if (query.selection_left) rules.selection_timeout = *query.selection_left;
  rules.min_generation = query.request.seen_generations.at(shard_at);
  rules.quorum = by_quorum(query, shard_query);
  rules.hedging = hedging_of(query, shard_query);
  rules.deadline = query.resources.deadline;
  rules.waiting_selections = &query.worker.process.waiting_selections;
  rules.worker = query.worker.loop.index;
  rules.only = only;
  if (only) rules.any_mirror = true;  // in any role
  if (shard_query.plan != nullptr)
    for (std::size_t i = 0; i < shard.mirrors->size(); ++i)
      if (prefers(*shard_query.plan, shard_at, (*shard.mirrors)[i].agent->name))
        rules.preferred.insert(i);
  return rules;
}

void fill_search_rules(const Topology& topology, const Table& table, const Shard& shard,
                       const Selection& selection, ShardRules& rules) {
  fill_common(topology, table, shard, selection, rules);
  rules.quorum = table.consistency == Consistency::quorum;
  if (!topology.settings.hedge_disabled.value)
    rules.hedging = hedging_of(topology, table, std::nullopt, table.preference);
}

SelectionCriteria first_pick_criteria(const PickSubject& of,
                                      std::optional<std::uint64_t> min_generation) {
  return first_choice(of, min_generation, &MirrorChoice::criteria_now);
}

std::vector<double> first_pick_shares(const PickSubject& of) {
  const auto& set = *of.shard.mirrors;
  auto criteria = first_pick_criteria(of);
  if (set.acceptable(criteria, of.worker.loop.index).empty())
    criteria = first_choice(of, {}, &MirrorChoice::criteria);
  return set.shares(criteria, of.worker.loop.index);
}

}  // namespace karmad
