#include "balancer/selection/explanation.hpp"

#include "balancer/selection/shard_query.hpp"

namespace karmad {

void begin_explanation(Query& query, const Table& table, const Need& need) {
  auto& worker = query.worker;
  auto& ring = query.record.wants_explanation ? worker.explained_on_request : worker.explained;
  if (!ring.enabled()) return;
  if (!ring.keeps(query.topology)) return;  // two reloads meanwhile
  query.record.explained_in = &ring;
  query.record.explained_at = ring.begin(query.record.id);
  auto& record = *explanation(query);
  record.request_id = query.record.request_id.text();
  record.began = query.record.began;
  record.topology = query.topology;
  record.table = &table;
  record.need.operation = need.operation;
  // The usual preference is the one of the request before: a comparison costs less than a copy.
  if (record.need.preference != need.preference) record.need.preference = need.preference;
}

void end_explanation(const Query& query, int status, TimePoint now) {
  auto* const record = explanation(query);
  if (record == nullptr) return;
  record->took = std::chrono::duration_cast<Micros>(now - query.record.began);
  record->status = status;
  record->queued = query.record.trace.queued;
  record->merge = query.record.trace.merge;
  record->partial = query.record.trace.partial;
}

namespace {

void explain_shard(const Query& query, const PickSubject& of, ExplainedChoice& choice,
                   MirrorView* numbers) {
  const auto& selection = of.selection;
  const auto& view = *choice.view;
  if (const auto refused = selection.at(of.shard) == nullptr
                               ? std::nullopt
                               : refusal_of(selection.need(), selection.any_takes_updates(), view))
    choice.refused = refused->reason;
  const MirrorSet::PickRecord record{choice.steps, numbers};
  const auto criteria =
      first_pick_criteria(of, query.request.seen_generations.at(choice.shard_number - 1));
  of.shard.mirrors->acceptable(criteria, of.worker.loop.index, &record);
}

}  // namespace

void explain_now(const Query& query, const Table& table, Operation operation,
                 ExplainRecord& record) {
  const Selection selection(query.request.preference, table, query.topology->settings,
                            operation == Operation::read ? SelectionClass::may_use_secondary
                                                         : SelectionClass::must_use_primary);
  record.table = &table;
  record.need = selection.need();
  record.began = query.record.began;
  for (std::size_t i = 0; i < table.shards.size(); ++i) {
    const auto& shard = *table.shards[i];
    auto* const choice = record.add(shard.mirrors->size());
    if (choice == nullptr) continue;
    choice->shard = &shard;
    choice->shard_number = static_cast<unsigned>(i + 1);
    choice->view = shard.mirrors->view(query.worker.loop.index);
    explain_shard(query, {*query.topology, table, shard, selection, query.worker}, *choice,
                  &record.numbers[choice->first_number]);
  }
}

}  // namespace karmad
