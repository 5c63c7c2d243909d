#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/intrusive/set.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "agent/stats/single_writer.hpp"
#include "agent/stats/stats_writer.hpp"
#include "agent/transport/loop/loop.hpp"
#include "balancer/core/query.hpp"
#include "balancer/rules/admission/queue_discipline.hpp"
#include "strategies/time.hpp"

namespace karmad {

/// A request that waits for a ticket. Its address must not change until it was woken or cancelled.
class TicketWaiter : public boost::intrusive::set_base_hook<
                         boost::intrusive::link_mode<boost::intrusive::normal_link>> {
 public:
  TicketWaiter(unsigned on_worker, Priority with, std::uint64_t admitted_before = 0)
      : worker(on_worker), priority(with), admissions(admitted_before) {}
  TicketWaiter& operator=(TicketWaiter&&) = delete;

  const unsigned worker;
  const Priority priority;         ///< not exempt
  const std::uint64_t admissions;  ///< so far; the queue of low priority serves the fewest first

  friend bool operator<(const TicketWaiter& a, const TicketWaiter& b) { return a.rank_ < b.rank_; }

 protected:
  ~TicketWaiter() = default;
  /// The wait has ended. Called once, on its worker.
  virtual void on_wake() = 0;

 private:
  friend class TicketLine;
  friend class TicketPool;
  friend class WakeList;
  enum class State : std::uint8_t { idle, queued, granted, shed };
  State state_ = State::idle;  // protected by the pool's lock while queued
  std::uint64_t rank_ = 0;
  TimePoint since_{};
  TicketWaiter* next_to_wake_ = nullptr;
};

/// The waiters to wake after the lock of the pool is released: posting to a loop takes the lock of
/// the loop. Made before the lock is taken.
class WakeList {
 public:
  explicit WakeList(const Loops& loops) : loops_(loops) {}
  WakeList& operator=(WakeList&&) = delete;
  /// Wakes each waiter on its worker; without loops on this thread.
  ~WakeList();

  void add(TicketWaiter& waiter);

 private:
  const Loops& loops_;
  TicketWaiter* first_ = nullptr;
};

/// The order in which a queue is served.
struct LineSettings {
  DisciplineSettings discipline;
  /// Serves the request with the fewest admissions first, in any discipline (AC-007).
  bool fewest_admissions = false;

  bool operator==(const LineSettings&) const = default;
};

/// The queue of requests for tickets of one pool, ordered by arrival or by admissions. Allocates
/// nothing: the nodes are part of the waiters. One thread at a time.
class TicketLine {
 public:
  explicit TicketLine(const LineSettings& settings) { this->settings(settings); }

  /// Changes the rules; waiting requests keep their places.
  void settings(const LineSettings& settings);
  std::size_t size() const { return waiting_.size(); }

  void join(TicketWaiter& waiter);
  /// Removes a waiter that gives up.
  void leave(TicketWaiter& waiter) { remove(waiter, TicketWaiter::State::idle); }
  /// Removes the waiter that gets the free ticket, and before it those that have waited too long.
  /// The queue must not be empty.
  void serve_next(TimePoint now, WakeList& to_wake);
  /// Whether a waiting request may be shed for a new one.
  bool can_make_room() const { return !waiting_.empty() && discipline_.newest_first(); }
  /// Sheds the oldest waiter. The queue must not be empty.
  void make_room(WakeList& to_wake);

 private:
  TicketWaiter& next(TimePoint now, WakeList& to_wake);
  void remove(TicketWaiter& waiter, TicketWaiter::State state);

  bool fewest_admissions_ = false;
  QueueDiscipline discipline_;
  boost::intrusive::multiset<TicketWaiter> waiting_;  ///< equal ranks in order of arrival
};

/// The counts of one pool and priority (AC-015).
template <class Number>
struct TicketCounts {
  Number added_to_queue{};
  Number removed_from_queue{};
  Number started_processing{};
  Number finished_processing{};
  Number total_time_processing_us{};
  Number total_time_queued_us{};
  Number canceled{};     ///< left the queue without a ticket: deadline, client, shed
  Number shed{};         ///< part of these: for a new request, or waited too long
  Number refused{};      ///< the queue was full
  Number would_queue{};  ///< monitor mode: requests that would have queued
  Number would_refuse{};
};

/// Those of one worker. Only that worker writes.
using TicketCells = TicketCounts<SingleWriter<std::uint64_t>>;

/// One worker's counts for one pool.
struct alignas(64) WorkerTickets {
  std::array<TicketCells, kPriorities> by_priority;
  SingleWriter<std::uint64_t> delinquent;
  SingleWriter<std::uint64_t> delinquent_ms;
  SingleWriter<std::uint64_t> delinquent_ms_most;
};

/// Those of all workers.
struct PriorityStatistics : TicketCounts<std::uint64_t> {
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
  TicketPool& operator=(TicketPool&&) = delete;

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
  void measure(TimePoint now) { drain_.sample(finished(), exhausted(), now); }
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
  std::uint32_t size() const { return total(word_.load(std::memory_order_relaxed)); }
  /// Tickets returned since the start.
  std::uint64_t finished() const { return total_of(&TicketCells::finished_processing); }
  /// Requests since the start that found no free ticket: queued or refused.
  std::uint64_t waited() const {
    return total_of(&TicketCells::added_to_queue) + total_of(&TicketCells::refused);
  }
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
  /// Of all workers, without exempt requests.
  std::uint64_t total_of(SingleWriter<std::uint64_t> TicketCells::*count) const;
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
