#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "agent/transport/loop/loops.hpp"
#include "balancer/admission/ticket_counts.hpp"
#include "balancer/admission/ticket_line.hpp"
#include "balancer/core/ticket.hpp"
#include "balancer/rules/admission/drain_rate.hpp"

namespace karmad {

struct PoolSettings {
  static constexpr std::uint32_t kMost = (1u << 31) - 1;  ///< tickets

  std::optional<std::uint32_t> size;         ///< none: unlimited
  bool counted = true;                       ///< false: nothing is counted or limited
  bool enforced = true;                      ///< false: no request waits or is refused
  std::optional<std::uint32_t> queue_depth;  ///< none: four times the size
  LineSettings line;
  TicketResize resize = kDefaultSettings.ticket_resize.value;  ///< how it shrinks (AC-012)
  Micros stalled_after = kDefaultSettings.throughput_probing_stall_detection_timeout.value;
  Micros delinquent_after = kDefaultSettings.ticket_delinquent_after.value;

  /// Whether the pool can run out; only then tickets are counted in one place.
  bool limits() const { return counted && size; }
  std::uint32_t tickets() const { return limits() ? std::min(*size, kMost) : kMost; }
  /// Length of the queue for that many tickets.
  std::uint32_t depth(std::uint32_t tickets) const {
    return queue_depth.value_or(
        static_cast<std::uint32_t>(std::min<std::uint64_t>(4ull * tickets, kMost)));
  }
  bool operator==(const PoolSettings&) const = default;
};

/// A pool of tickets with a bounded queue. Any thread may call every function. Taking and returning
/// cost one locked instruction each; the lock is used only while a request waits, no ticket is
/// left, or the pool is being resized. A pool that is not counted (unlimited, or larger than all
/// possible demand) costs plain stores to the worker's cells and measures no time. Tickets taken
/// while it was not counted are not counted later.
class TicketPool {
 public:
  /// `loops` wake the waiters, each on its worker. Without loops they are woken at once on the
  /// thread that returns a ticket.
  TicketPool(unsigned workers, const Loops& loops, const PoolSettings& settings);
  TicketPool(const TicketPool&) = delete;
  TicketPool& operator=(const TicketPool&) = delete;

  /// A ticket, if one is free and no request waits; else an empty one.
  Ticket try_take(unsigned worker, Priority priority, TimePoint now);
  /// Counts work that needs no ticket (AC-008).
  Ticket exempt(unsigned worker, TimePoint now);
  /// Always gives a ticket; counts requests that would wait or be refused (`admission = monitor`).
  Ticket watch(unsigned worker, Priority priority, TimePoint now);

  enum class AskResult : std::uint8_t { admitted, queued, refused };
  /// Takes a ticket (get it with collect()), or queues the request, or refuses it: the queue is
  /// full.
  AskResult ask(TicketWaiter& waiter, TimePoint now);
  /// Whether no ticket is free; two loads.
  bool exhausted() const {
    const auto word = word_.load(std::memory_order_relaxed);
    return counted_.load(std::memory_order_relaxed) && used(word) >= total(word);
  }
  /// Whether ask() would refuse now; if so, counts the refusal.
  bool refuses(unsigned worker, Priority priority, TimePoint now);
  /// Leaves the queue. False: it was served or shed already, and on_wake() will be called.
  bool cancel(TicketWaiter& waiter, TimePoint now);
  /// After `admitted` or on_wake(): the ticket; empty if the request was shed.
  Ticket collect(TicketWaiter& waiter, TimePoint now);

  /// Applies new settings. Waiting requests keep their places or are served.
  void settings(const PoolSettings& settings, TimePoint now);
  /// Changes the size: upwards at once, with one waiter served per new ticket; downwards as
  /// configured.
  void resize(std::uint32_t size, TimePoint now);
  /// Measures how fast tickets come back; one thread calls it periodically.
  void measure(TimePoint now);
  /// How long a refused request should wait before a retry, by the queue and the recent rate of
  /// returned tickets: 1 to 30 s. Two loads.
  std::chrono::seconds retry_after() const {
    return drain_.wait(waiting_.load(std::memory_order_relaxed));
  }
  /// Ends a gradual resize that has stalled, with the size reached so far (AC-012). True: it did.
  bool end_stalled_resize(TimePoint now);
  bool resizing() const;

  PoolSettings settings() const;

  /// Most tickets in use at the same time since the last call (AC-013).
  std::uint32_t take_peak();
  std::uint32_t size() const;
  /// Tickets returned since the start.
  std::uint64_t finished() const;
  /// Requests since the start that found no free ticket: queued or refused.
  std::uint64_t waited() const;
  std::uint32_t queue_depth() const { return depth_.load(std::memory_order_relaxed); }
  PoolStatistics statistics() const;

 private:
  friend class Ticket;
  // The state is one word: the tickets in use, whether the slow path is needed (a request waits, or
  // a resize is in progress), and the number of tickets.
  static constexpr std::uint64_t kAttention = std::uint64_t{1} << 32;
  static constexpr unsigned kTotalAt = 33;
  static std::uint32_t used(std::uint64_t word) { return static_cast<std::uint32_t>(word); }
  static std::uint32_t total(std::uint64_t word) {
    return static_cast<std::uint32_t>(word >> kTotalAt);
  }
  static std::uint64_t with_total(std::uint64_t word, std::uint32_t total) {
    return (word & (kAttention | 0xFFFFFFFFu)) | std::uint64_t{total} << kTotalAt;
  }

  void give_back(const Ticket& ticket, TimePoint now);
  TicketCells& cells(unsigned worker, Priority priority) {
    return cells_[worker].by_priority[static_cast<std::size_t>(priority)];
  }
  void note_peak(std::uint32_t in_use);

  // Called with the lock held:
  bool has_free(std::uint64_t word) const {
    return !settings_.enforced || used(word) < total(word);
  }
  void set_total(std::uint32_t size);
  void begin_resize(std::uint32_t size, TimePoint now);
  void shrink();
  void grant_free_tickets(TimePoint now, WakeList& to_wake);
  bool is_full() const {
    return line_.size() >= queue_depth() && !(queue_depth() > 0 && line_.can_make_room());
  }

  alignas(64) std::atomic<std::uint64_t> word_;
  alignas(64) std::atomic<bool> counted_;
  std::atomic<std::uint32_t> peak_{0};
  std::atomic<std::uint32_t> depth_;
  std::atomic<std::uint32_t> waiting_{0};  ///< length of the queue when the lock was last released
  std::atomic<std::int64_t> delinquent_after_;
  const Loops& loops_;
  std::vector<WorkerTickets> cells_;
  DrainRate drain_;

  mutable std::mutex mutex_;  ///< protects what follows
  PoolSettings settings_;
  TicketLine line_;
  std::uint32_t target_ = 0;             ///< the size after the resize
  std::optional<TimePoint> stalled_at_;  ///< deadline of the current resize; none: no resize
};

}  // namespace karmad
