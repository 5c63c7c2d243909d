#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "agent/stats/single_writer.hpp"
#include "agent/stats/stats_writer.hpp"
#include "balancer/core/ticket.hpp"
#include "strategies/time.hpp"

namespace karmad {

/// One worker's counts for one pool and priority. Only that worker writes.
struct TicketCells {
  SingleWriter<std::uint64_t> added;
  SingleWriter<std::uint64_t> removed;
  SingleWriter<std::uint64_t> started;
  SingleWriter<std::uint64_t> finished;
  SingleWriter<std::uint64_t> processing_us;
  SingleWriter<std::uint64_t> queued_us;
  SingleWriter<std::uint64_t> canceled;
  SingleWriter<std::uint64_t> shed;
  SingleWriter<std::uint64_t> refused;
  SingleWriter<std::uint64_t> would_queue;
  SingleWriter<std::uint64_t> would_refuse;
};

/// One worker's counts for one pool.
struct alignas(64) WorkerTickets {
  std::array<TicketCells, kPriorities> by_priority;
  SingleWriter<std::uint64_t> delinquent;
  SingleWriter<std::uint64_t> delinquent_ms;
  SingleWriter<std::uint64_t> delinquent_ms_most;
};

/// Statistics of one priority (AC-015), over all workers.
struct PriorityStatistics {
  std::uint64_t added_to_queue = 0;
  std::uint64_t removed_from_queue = 0;
  std::uint64_t started_processing = 0;
  std::uint64_t finished_processing = 0;
  std::uint64_t total_time_processing_us = 0;
  std::uint64_t total_time_queued_us = 0;
  std::uint64_t canceled = 0;     ///< left the queue without a ticket: deadline, client, shed
  std::uint64_t shed = 0;         ///< part of these: for a new request, or waited too long
  std::uint64_t refused = 0;      ///< the queue was full
  std::uint64_t would_queue = 0;  ///< monitor mode: requests that would have queued
  std::uint64_t would_refuse = 0;

  std::uint64_t queue_length() const { return added_to_queue - removed_from_queue; }
  std::uint64_t processing() const { return started_processing - finished_processing; }
};

void write(StatsWriter& out, const PriorityStatistics& of);

struct PoolStatistics {
  std::uint64_t out = 0;
  std::optional<std::int64_t> available;  ///< negative after an immediate reduction of the size
  std::optional<std::uint32_t> total;     ///< none: unlimited
  std::optional<std::uint32_t> peak;      ///< since the last adjustment; none: not counted
  bool resizing = false;
  std::array<PriorityStatistics, kPriorities> by_priority;
  std::uint64_t delinquent = 0;  ///< tickets held longer than the threshold
  std::uint64_t delinquent_ms = 0;
  std::uint64_t delinquent_ms_most = 0;
  std::chrono::seconds retry_after{0};  ///< sent to refused requests
  std::uint64_t queued() const {
    return (*this)[Priority::normal].queue_length() + (*this)[Priority::low].queue_length();
  }

  const PriorityStatistics& operator[](Priority priority) const {
    return by_priority[static_cast<std::size_t>(priority)];
  }
};

/// Writes all numbers except those of the priorities and delinquent tickets.
void write(StatsWriter& out, const PoolStatistics& pool);
void write_delinquent(StatsWriter& out, const PoolStatistics& pool);

/// Sums the workers' counts. Concurrent updates may be missing, but no difference of two numbers
/// becomes negative.
PoolStatistics sum(std::span<const WorkerTickets> workers);

}  // namespace karmad
