#include "balancer/selection/shard_query.hpp"

#include "balancer/core/request_fields.hpp"
#include "balancer/selection/shard_rules.hpp"

namespace karmad {
namespace {

/// If no retries are configured, a list of timeouts allows as many as it has entries (CO-044).
void fill_subject(const Query& query, const ShardQuery& shard_query, const Shard& shard,
                  RetrySubject& subject) {
  const auto& options = shard_query.parsed.options;
  subject.kind = shard_query.parsed.read           ? RequestClass::read
                 : shard_query.parsed.unclassified ? RequestClass::unclassified
                                                   : RequestClass::write;
  subject.follow_up = shard_query.parsed.follow_up;
  subject.has_idempotency_key = !query.head.find(kIdempotencyKey).empty();
  subject.mirrors = shard.mirrors->size();
  auto& ordinary = subject.ordinary;
  ordinary.per_mirror_of_query = options.retry_count;
  ordinary.absolute_of_line = shard.retry_count;
  ordinary.per_mirror = shard_query.table.retry_count;
  ordinary.delay = options.retry_delay.value_or(query.topology->settings.agent_retry_delay.value);
  const auto steps = shard_query.table.search_timeouts.size();
  if (steps > 1 && !ordinary.per_mirror && !ordinary.per_mirror_of_query)
    ordinary.absolute_of_line =
        ordinary.absolute_of_line.value_or(static_cast<unsigned>(steps - 1));
}

/// The effective hedging from the request, its read preference, the table and the instance.
Hedging hedging_of(const Query& query, const ShardQuery& shard_query) {
  const auto& settings = query.topology->settings;
  const auto& table = shard_query.table;
  if (!shard_query.parsed.read || shard_query.parsed.follow_up || settings.hedge_disabled.value)
    return {};
  const auto& preference = query.preference ? query.preference : table.preference;
  // The usual case, with the same result as the code below.
  const bool asked_for = query.hedge || (preference && preference->hedge);
  if (table.hedge.kind == HedgeSetting::Kind::off && !asked_for) return {};
  const HedgeWords words{.request = query.hedge,
                         .preference = preference ? preference->hedge : std::nullopt,
                         .table = table.hedge,
                         .instance = query.topology->hedge,
                         .step = table.hedge_step};
  return hedging_in_force(words, settings.request_timeout.value);
}

/// Interval of probes to unreachable mirrors by queries. Pings are better probes, where they are
/// enabled and answered.
Micros probe_every(const Query& query, const Shard& shard) {
  if (shard.pings.kind == nullptr) return std::chrono::seconds(1);
  return 10 * query.topology->settings.ha_ping_interval.value;
}

}  // namespace

void fill_rules(const Query& query, const ShardQuery& shard_query, const Shard& shard,
                ShardRules& rules) {
  const auto& settings = query.topology->settings;
  const auto& table = shard_query.table;
  rules.need = &shard_query.selection.need();
  rules.any_mirror = shard_query.selection.at(shard) == nullptr;
  rules.any_takes_updates = shard_query.selection.any_takes_updates();
  rules.window = shard_query.selection.window();
  rules.min_generation = query.min_generation;
  rules.retry = &table.retry_rules;
  fill_subject(query, shard_query, shard, rules.subject);
  rules.timeout_steps = table.search_timeouts.size();
  rules.quorum = by_quorum(query, shard_query);
  rules.hedging = hedging_of(query, shard_query);
  rules.hedge_max = table.hedge_max;
  rules.deadline = query.deadline;
  rules.connect_timeout = table.connect_timeout;
  rules.selection_timeout = settings.selection_timeout.value;
  rules.probe_every = probe_every(query, shard);
  rules.pings_describe = shard.pings.kind != nullptr && shard.pings.kind->describes;
  rules.waiting_selections = &query.worker.process.waiting_selections;
  rules.max_waiting_selections = settings.max_waiting_selections.value;
  rules.worker = query.worker.loop.index;
}

}  // namespace karmad
