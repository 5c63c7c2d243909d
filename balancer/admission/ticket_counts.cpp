#include "balancer/admission/ticket_counts.hpp"

#include <algorithm>

namespace karmad {

std::string_view name(Priority priority) {
  constexpr std::array<std::string_view, kPriorities> names{"normal", "low", "exempt"};
  return names[static_cast<std::size_t>(priority)];
}

PoolStatistics sum(std::span<const WorkerTickets> workers) {
  PoolStatistics sums;
  for (const auto& worker : workers) {
    for (std::size_t i = 0; i < kPriorities; ++i) {
      const auto& cells = worker.of[i];
      auto& of = sums.of[i];
      of.removed_from_queue += cells.removed.get();
      of.finished_processing += cells.finished.get();
      of.added_to_queue += cells.added.get();
      of.started_processing += cells.started.get();
      of.total_time_processing_us += cells.processing_us.get();
      of.total_time_queued_us += cells.queued_us.get();
      of.canceled += cells.canceled.get();
      of.shed += cells.shed.get();
      of.refused += cells.refused.get();
      of.would_queue += cells.would_queue.get();
      of.would_refuse += cells.would_refuse.get();
    }
    sums.delinquent += worker.delinquent.get();
    sums.delinquent_ms += worker.delinquent_ms.get();
    sums.delinquent_ms_most = std::max(sums.delinquent_ms_most, worker.delinquent_ms_most.get());
  }
  for (auto& of : sums.of) {
    of.added_to_queue = std::max(of.added_to_queue, of.removed_from_queue);
    of.started_processing = std::max(of.started_processing, of.finished_processing);
  }
  return sums;
}

}  // namespace karmad
