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
  bool counted = true;                       ///< false: it cannot run out, whatever its size
  bool enforced = true;                      ///< false: no request waits or is refused
  std::optional<std::uint32_t> queue_depth;  ///< none: four times the size
  LineSettings line;
  TicketResize resize = kDefaultSettings.ticket_resize.value;  ///< how it shrinks (AC-012)
  Micros stalled_after = kDefaultSettings.throughput_probing_stall_detection_timeout.value;
  Micros delinquent_after = kDefaultSettings.ticket_delinquent_after.value;

  /// Whether the pool can run out, and is counted in one place.
  bool limits() const { return counted && size; }
  std::uint32_t tickets() const { return limits() ? std::min(*size, kMost) : kMost; }
  /// How many may wait for so many tickets.
  std::uint32_t depth(std::uint32_t tickets) const {
    return queue_depth.value_or(
        static_cast<std::uint32_t>(std::min<std::uint64_t>(4ull * tickets, kMost)));
  }
  bool operator==(const PoolSettings&) const = default;
};

/// A bounded number of tickets, and those who wait for one in a bounded queue. Any thread calls
/// anything. Taking and giving back cost one locked instruction each; the lock is used only while
/// a request waits, no ticket is left, or the pool is being resized. A pool that is not counted (it
/// is unlimited, or larger than all that can be asked of it) costs plain stores to the worker's
/// own cells, and measures no time. Tickets taken while it was not counted are not counted later.
class TicketPool {
 public:
  /// `loops` wake those who wait, each on its worker; without loops that happens at once, in the
  /// thread that gives a ticket back.
  TicketPool(unsigned workers, const Loops& loops, const PoolSettings& settings);
  TicketPool(const TicketPool&) = delete;
  TicketPool& operator=(const TicketPool&) = delete;

  /// A ticket, if one is free and no request waits; else none.
  Ticket try_take(unsigned worker, Priority priority, TimePoint now);
  /// Counts work that needs no ticket (AC-008).
  Ticket exempt(unsigned worker, TimePoint now);
  /// A ticket in any case; counts what would have become of the caller (`admission = monitor`).
  Ticket watch(unsigned worker, Priority priority, TimePoint now);

  enum class Asked : std::uint8_t { admitted, queued, refused };
  /// A ticket (then collect() has it), or a place in the queue, or neither: the queue is full.
  Asked ask(TicketWaiter& waiter, TimePoint now);
  /// Whether all tickets are out, at a glance.
  bool exhausted() const {
    const auto word = word_.load(std::memory_order_relaxed);
    return counted_.load(std::memory_order_relaxed) && used(word) >= total(word);
  }
  /// True where ask() would refuse, and counted as refused: for who need not come to ask.
  bool refuses(unsigned worker, Priority priority, TimePoint now);
  /// Leaves the queue. False: it was served or shed already and will be woken.
  bool cancel(TicketWaiter& waiter, TimePoint now);
  /// After `admitted`, or once woken: the ticket, or none for who was shed.
  Ticket collect(TicketWaiter& waiter, TimePoint now);

  /// Applies new settings. A waiting request keeps its place, unless it need not wait any more.
  void settings(const PoolSettings& settings, TimePoint now);
  /// Another size, up at once, one waiter per new ticket; down as the settings say.
  void resize(std::uint32_t size, TimePoint now);
  /// Learns how fast tickets come back; one thread calls it, now and then.
  void measure(TimePoint now);
  /// When it makes sense for who was refused to come back, by who waits and how fast tickets came
  /// back lately: 1 to 30. Two loads.
  std::chrono::seconds retry_after() const {
    return drain_.wait(waiting_.load(std::memory_order_relaxed));
  }
  /// True once when a gradual resize got stuck; what was taken stays taken (AC-012).
  bool stalled(TimePoint now);
  bool resizing() const;

  PoolSettings settings() const;

  /// Most tickets that were out at a time since the last call (AC-013).
  std::uint32_t take_peak();
  std::uint32_t size() const;
  /// Tickets given back since the start.
  std::uint64_t finished() const;
  /// Those who found none free since the start: were queued, or refused.
  std::uint64_t waited() const;
  std::uint32_t queue_depth() const { return depth_.load(std::memory_order_relaxed); }
  PoolStatistics statistics() const;

 private:
  friend class Ticket;
  // The state is one word: the tickets in use, whether the slow path is needed (a request waits,
  // or a resize is under way), and how many tickets there are.
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
    return cells_[worker].of[static_cast<std::size_t>(priority)];
  }
  void note_peak(std::uint32_t in_use);

  // With the lock:
  bool has_free(std::uint64_t word) const {
    return !settings_.enforced || used(word) < total(word);
  }
  void set_total(std::uint32_t size);
  void begin_resize(std::uint32_t size, TimePoint now);
  void shrink();
  void settle(TimePoint now, Woken& woken);
  bool is_full() const {
    return line_.size() >= queue_depth() && !(queue_depth() > 0 && line_.can_make_room());
  }

  alignas(64) std::atomic<std::uint64_t> word_;
  alignas(64) std::atomic<bool> counted_;
  std::atomic<std::uint32_t> peak_{0};
  std::atomic<std::uint32_t> depth_;
  std::atomic<std::uint32_t> waiting_{0};  ///< as the line was when the lock was left
  std::atomic<std::int64_t> delinquent_after_;
  const Loops& loops_;
  std::vector<WorkerTickets> cells_;
  DrainRate drain_;

  mutable std::mutex mutex_;  ///< of what follows
  PoolSettings settings_;
  TicketLine line_;
  std::uint32_t wanted_ = 0;          ///< the size, when a resize has come to its end
  std::optional<TimePoint> give_up_;  ///< the resize under way
};

}  // namespace karmad
