#include "balancer/admission/ticket_counts.hpp"

#include <algorithm>

#include "config/enum_names.hpp"

namespace karmad {

std::string_view name(Priority priority) {
  static constexpr auto kNames = enum_names<Priority>(
      {{Priority::normal, "normal"}, {Priority::low, "low"}, {Priority::exempt, "exempt"}});
  static_assert(kNames.all().size() == kPriorities);
  return kNames[priority];
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

void write(StatsWriter& out, const PriorityStatistics& of) {
  using enum StatKind;
  const auto add = [&](std::string_view name, std::string_view help, std::string_view member,
                       StatValue value, StatKind kind = counter, Unit unit = Unit::count) {
    out.add({name, help, kind, unit, kHidden, member}, value);
  };
  add("pool_queued", "put into the queue", "addedToQueue", of.added_to_queue);
  add("pool_dequeued", "left the queue", "removedFromQueue", of.removed_from_queue);
  add("pool_queue_length", "wait now", "queueLength", of.queue_length(), gauge);
  add("pool_started", "got a ticket", "startedProcessing", of.started_processing);
  add("pool_processing", "have a ticket now", "processing", of.processing(), gauge);
  add("pool_finished", "gave the ticket back", "finishedProcessing", of.finished_processing);
  add("pool_processing_time", "time with a ticket", "totalTimeProcessingMicros",
      of.total_time_processing_us, counter, Unit::microseconds);
  add("pool_canceled", "left the queue without a ticket", "canceled", of.canceled);
  add("pool_admissions", "got a ticket; no request gets two", "newAdmissions",
      of.started_processing);
  add("pool_queued_time", "time in the queue", "totalTimeQueuedMicros", of.total_time_queued_us,
      counter, Unit::microseconds);
  add("pool_shed", "left the queue to make room, or after too long", "shed", of.shed);
  add("pool_refused", "found the queue full", "refused", of.refused);
  add("pool_would_queue", "would have waited, but for admission = monitor", "wouldQueue",
      of.would_queue);
  add("pool_would_refuse", "would have been refused, but for admission = monitor", "wouldRefuse",
      of.would_refuse);
}

void write(StatsWriter& out, const PoolStatistics& pool) {
  using enum StatKind;
  out.add({"pool_tickets_out", "tickets that are taken", gauge, Unit::count, "tickets_out", "out"},
          pool.out);
  out.add({"pool_tickets_available", "tickets that are left", gauge, Unit::count,
           "tickets_available", "available"},
          StatValue::limit(pool.available));
  out.add({"pool_tickets", "all tickets", gauge, Unit::count, "tickets_total", "totalTickets"},
          StatValue::limit(pool.total));
  out.add({"pool_tickets_queued", "requests that wait now for a ticket", gauge, Unit::count,
           "tickets_queued", kHidden},
          pool.queued());
  out.add({"pool_peak", "most tickets taken at a time since the probing last looked", gauge,
           Unit::count, kHidden, "peak"},
          pool.peak);
  out.add({"pool_resizing", "1: waits for tickets to come back to become smaller", gauge,
           Unit::flag, kHidden, "resizing"},
          pool.resizing);
  out.add({"pool_retry_after", "when a refused request is told to come back", gauge, Unit::seconds,
           kHidden, "retryAfterSeconds"},
          pool.retry_after.count());
}

void write_delinquent(StatsWriter& out, const PoolStatistics& pool) {
  using enum StatKind;
  out.add({"pool_delinquent", "tickets held longer than the threshold", counter, Unit::count,
           kHidden, "count"},
          pool.delinquent);
  out.add({"pool_delinquent_time", "how long they were held in all", counter, Unit::milliseconds,
           kHidden, "totalMillis"},
          pool.delinquent_ms);
  out.add({"pool_delinquent_longest", "the longest that one was held", gauge, Unit::milliseconds,
           kHidden, "maxMillis"},
          pool.delinquent_ms_most);
}

}  // namespace karmad
