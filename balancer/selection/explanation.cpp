#include "balancer/selection/explanation.hpp"

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

}  // namespace karmad
