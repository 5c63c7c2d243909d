#include "balancer/selection/explain_now.hpp"

#include "balancer/selection/mirror_choice.hpp"
#include "balancer/selection/selection.hpp"
#include "balancer/selection/set_mirrors.hpp"

namespace karmad {
namespace {

void explain_shard(const Query& query, const Selection& selection, const Shard& shard,
                   ExplainedChoice& choice, MirrorView* numbers) {
  auto& worker = query.worker;
  auto& set = *shard.mirrors;
  SetMirrors mirrors(set, query.topology->settings, worker.loop.index);
  ShardRules rules;
  rules.need = &selection.need();
  rules.any_mirror = selection.at(shard) == nullptr;
  rules.any_takes_updates = selection.any_takes_updates();
  rules.window = selection.window();
  rules.min_generation = query.seen_generations.at(choice.shard_number - 1);
  rules.pings_describe = shard.pings.kind != nullptr && shard.pings.kind->describes;
  const LineMemory line;
  const ShardMoment moment{.now = Loop::now(),
                           .random = worker.loop.random,
                           .protection = *shard.protection,
                           .mirrors = mirrors,
                           .counters = worker.counters};
  const auto& view = *choice.view;
  if (const auto refused = rules.any_mirror
                               ? std::nullopt
                               : refusal_of(selection.need(), rules.any_takes_updates, view))
    choice.refused = refused->reason;
  const MirrorSet::PickRecord record{choice.steps, numbers};
  set.acceptable(MirrorChoice(rules, line, moment).criteria_now(), worker.loop.index, &record);
}

}  // namespace

void explain_now(const Query& query, const Table& table, Operation operation,
                 ExplainRecord& record) {
  const Selection selection(query.preference, table, query.topology->settings,
                            operation == Operation::read ? SelectionClass::may_use_secondary
                                                         : SelectionClass::must_use_primary);
  record.table = &table;
  record.need = selection.need();
  record.began = query.began;
  for (std::size_t i = 0; i < table.shards.size(); ++i) {
    const auto& shard = *table.shards[i];
    auto* const choice = record.add(shard.mirrors->size());
    if (choice == nullptr) continue;
    choice->shard = &shard;
    choice->shard_number = static_cast<unsigned>(i + 1);
    choice->view = shard.mirrors->view(query.worker.loop.index);
    explain_shard(query, selection, shard, *choice, &record.numbers[choice->first_number]);
  }
}

}  // namespace karmad
