#include "balancer/selection/explanation.hpp"

namespace karmad {

void begin_explanation(Query& query, const Table& table, const Need& need) {
  auto& worker = query.worker;
  auto& ring = query.wants_explanation ? worker.explained_on_request : worker.explained;
  if (!ring.enabled()) return;
  if (!ring.keeps(query.topology)) return;  // two reloads meanwhile
  query.explained_in = &ring;
  query.explained_at = ring.begin(query.id);
  auto& record = *explanation(query);
  record.request_id = query.request_id.text();
  record.began = query.began;
  record.topology = query.topology;
  record.table = &table;
  record.need.operation = need.operation;
  // The usual preference is the one of the request before: a comparison costs less than a copy.
  if (record.need.preference != need.preference) record.need.preference = need.preference;
}

void end_explanation(const Query& query, int status, TimePoint now) {
  auto* const record = explanation(query);
  if (record == nullptr) return;
  record->took = std::chrono::duration_cast<Micros>(now - query.began);
  record->status = status;
  record->queued = query.trace.queued;
  record->merge = query.trace.merge;
  record->partial = query.trace.partial;
}

}  // namespace karmad
