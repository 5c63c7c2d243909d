#include "balancer/admission/ticket_counts.hpp"

#include <algorithm>

#include "config/text/enum_names.hpp"

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
      const auto& cells = worker.by_priority[i];
      auto& of = sums.by_priority[i];
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
  for (auto& of : sums.by_priority) {
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
  add("pool_queued", "requests put into the queue", "addedToQueue", of.added_to_queue);
  add("pool_dequeued", "requests that left the queue", "removedFromQueue", of.removed_from_queue);
  add("pool_queue_length", "requests in the queue now", "queueLength", of.queue_length(), gauge);
  add("pool_started", "requests that got a ticket", "startedProcessing", of.started_processing);
  add("pool_processing", "requests that have a ticket now", "processing", of.processing(), gauge);
  add("pool_finished", "requests that gave their ticket back", "finishedProcessing",
      of.finished_processing);
  add("pool_processing_time", "total time that requests had tickets", "totalTimeProcessingMicros",
      of.total_time_processing_us, counter, Unit::microseconds);
  add("pool_canceled", "requests that left the queue without a ticket", "canceled", of.canceled);
  add("pool_admissions", "requests that got a ticket; the same as pool_started", "newAdmissions",
      of.started_processing);
  add("pool_queued_time", "total time of requests in the queue", "totalTimeQueuedMicros",
      of.total_time_queued_us, counter, Unit::microseconds);
  add("pool_shed", "requests removed from the queue to make room, or after too long a wait", "shed",
      of.shed);
  add("pool_refused", "requests refused because the queue was full", "refused", of.refused);
  add("pool_would_queue", "requests that would wait for a ticket with admission = enforce",
      "wouldQueue", of.would_queue);
  add("pool_would_refuse", "requests that would be refused with admission = enforce", "wouldRefuse",
      of.would_refuse);
}

void write(StatsWriter& out, const PoolStatistics& pool) {
  using enum StatKind;
  out.add({"pool_tickets_out", "tickets in use", gauge, Unit::count, "tickets_out", "out"},
          pool.out);
  out.add({"pool_tickets_available", "free tickets", gauge, Unit::count, "tickets_available",
           "available"},
          StatValue::limit(pool.available));
  out.add(
      {"pool_tickets", "number of tickets", gauge, Unit::count, "tickets_total", "totalTickets"},
      StatValue::limit(pool.total));
  out.add({"pool_tickets_queued", "requests that wait now for a ticket", gauge, Unit::count,
           "tickets_queued", kHidden},
          pool.queued());
  out.add({"pool_peak", "most tickets in use at a time since the last measurement of probing",
           gauge, Unit::count, kHidden, "peak"},
          pool.peak);
  out.add({"pool_resizing", "1: the pool becomes smaller and waits for tickets to come back", gauge,
           Unit::flag, kHidden, "resizing"},
          pool.resizing);
  out.add({"pool_retry_after", "Retry-After of requests refused now", gauge, Unit::seconds, kHidden,
           "retryAfterSeconds"},
          pool.retry_after.count());
}

void write_delinquent(StatsWriter& out, const PoolStatistics& pool) {
  using enum StatKind;
  out.add({"pool_delinquent", "tickets held longer than ticket_delinquent_after", counter,
           Unit::count, kHidden, "count"},
          pool.delinquent);
  out.add({"pool_delinquent_time", "total time of tickets held longer than ticket_delinquent_after",
           counter, Unit::milliseconds, kHidden, "totalMillis"},
          pool.delinquent_ms);
  out.add({"pool_delinquent_longest", "longest time that one ticket was held", gauge,
           Unit::milliseconds, kHidden, "maxMillis"},
          pool.delinquent_ms_most);
}

}  // namespace karmad
