#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "agent/health/concurrency_limit.hpp"
#include "agent/transport/loop/loop.hpp"
#include "strategies/time.hpp"

namespace karmad {

/// Counters of an agent that all workers share: relaxed atomics on their own cache line. No thread
/// waits for them, and they order no other memory; a reader may be one attempt behind.
struct alignas(64) AgentCounters {
  std::atomic<std::uint32_t> in_flight{0};       ///< attempts of queries (AgentSlots counts them)
  std::atomic<std::uint32_t> most_in_flight{0};  ///< 0: unlimited
  std::atomic<std::uint32_t> waiting{0};         ///< queue entries of queries that wait for a slot
  std::atomic<std::uint32_t> errors_in_a_row{0};
  std::atomic<bool> answered{false};         ///< has ever answered a ping or query without error
  std::atomic<std::int64_t> last_answer{0};  ///< when the last attempt or ping ended
  std::atomic<std::int64_t> last_took{0};    ///< its duration, µs
  std::atomic<std::int64_t> last_reply{0};   ///< when the last one with a reply ended
  std::atomic<std::int64_t> ping_trip{0};    ///< round trip of the last answered ping, µs; 0: none
  /// When a connect or a ping last failed without any reply from the agent in the meantime.
  std::atomic<std::int64_t> last_unreachable{0};

  /// Whether the agent has replied to any attempt or ping since `then`.
  bool replied_since(TimePoint then) const {
    return last_reply.load(std::memory_order_relaxed) >= then.time_since_epoch().count();
  }
  /// Whether a connect or a ping since `then` has shown that the agent is unreachable, and no reply
  /// came after it.
  bool unreachable_since(TimePoint then) const {
    const auto at = last_unreachable.load(std::memory_order_relaxed);
    return at >= then.time_since_epoch().count() && at > last_reply.load(std::memory_order_relaxed);
  }
};

/// The limit of attempts in flight at an agent (`max_in_flight`).
struct AgentSlotRules {
  unsigned most = 0;       ///< 0: unlimited
  bool automatic = false;  ///< the limit follows the latency, up to `most`
  ConcurrencyRules measured;
  bool enforced = true;  ///< false: attempts above the limit are only counted
  bool operator==(const AgentSlotRules&) const = default;
};

class AgentSlots;

/// A slot at an agent: counts one attempt in flight while it lives. Moving it hands the slot over.
class AgentSlot {
 public:
  AgentSlot(AgentSlot&& other) noexcept : of_(std::exchange(other.of_, nullptr)) {}
  AgentSlot& operator=(AgentSlot&& other) noexcept {
    std::swap(of_, other.of_);
    return *this;
  }
  ~AgentSlot();

  /// Records the latency of an answered attempt, as a measure of the agent's load.
  void answered(Micros took) noexcept;
  /// Records an attempt that timed out or was refused as overload.
  void dropped() noexcept;

 private:
  friend class AgentSlots;
  explicit AgentSlot(AgentSlots& of) : of_(&of) {}
  AgentSlots* of_;
};

/// A query that waits for a slot at any of several agents. The thread that frees a slot takes it
/// for the waiting query and notifies its worker. The agents' queues share ownership; apart from
/// `got` and the state, only its worker uses it.
class SlotWaiter : public std::enable_shared_from_this<SlotWaiter> {
 public:
  SlotWaiter(const Loops& loops, unsigned worker) : loops_(loops), worker_(worker) {}

  /// The number of the mirror whose slot was granted, possibly by another thread; nothing while it
  /// waits. After a grant the owner must call QueuedWait::take().
  std::optional<std::size_t> got() const {
    const auto state = state_.load(std::memory_order_acquire);
    return state >= 0 ? std::optional(static_cast<std::size_t>(state)) : std::nullopt;
  }
  /// Withdraws the waiter; false if a slot has been granted already.
  bool give_up() { return move_on(kGone); }

  AsyncEvent* wake = nullptr;  ///< event of its worker, set while the query waits

 private:
  friend class AgentSlots;
  bool grant(std::size_t mirror);
  bool move_on(int to) {
    int waits = kWaits;
    return state_.compare_exchange_strong(waits, to, std::memory_order_acq_rel);
  }

  static constexpr int kWaits = -1;
  static constexpr int kGone = -2;
  const Loops& loops_;
  const unsigned worker_;
  std::atomic<int> state_{kWaits};
};

/// The slots of one agent: counts the attempts of queries in flight, limits them, and keeps the
/// queue of queries that wait for a slot, oldest first. Pings need no slot. Any thread may call
/// every function that does not say otherwise.
///
/// Cost of a slot: an increment and a decrement without a limit, a compare-and-exchange with one.
/// The lock is taken only while a query waits. The number in flight never exceeds the limit that
/// held when the last attempt got its slot.
class AgentSlots {
 public:
  explicit AgentSlots(AgentCounters& counters) : counters_(counters) {}

  /// A slot, if one is free and no query waits for one.
  std::optional<AgentSlot> try_take();
  /// No slot is free now.
  bool full() const {
    const auto most = counters_.most_in_flight.load(std::memory_order_relaxed);
    return most != 0 && (counters_.in_flight.load(std::memory_order_relaxed) >= most ||
                         counters_.waiting.load(std::memory_order_relaxed) != 0);
  }
  bool limited() const { return counters_.most_in_flight.load(std::memory_order_relaxed) != 0; }
  /// The limit, also if it is not enforced; with `auto`, without the short reduction while the
  /// baseline is measured. 0: unlimited.
  unsigned limit() const { return limit_.load(std::memory_order_relaxed); }
  bool automatic() const { return measuring_.load(std::memory_order_relaxed); }
  /// Attempts started above the limit because it is not enforced.
  std::uint64_t over() const { return over_.load(std::memory_order_relaxed); }

  /// Adds `waiter` to the queue; a granted waiter then reports `mirror` as its mirror. A slot may
  /// be granted before this returns.
  void join(const std::shared_ptr<SlotWaiter>& waiter, std::size_t mirror);
  void leave(const SlotWaiter& waiter);
  /// The slot that was granted to a waiter here.
  AgentSlot take_granted() { return AgentSlot(*this); }

  /// Changes the limits; attempts in flight and the queue stay. One thread at a time: worker 0 once
  /// it runs.
  void rules(const AgentSlotRules& rules);
  /// What `auto` has learned; nothing with a fixed limit. Worker 0 only.
  std::optional<ConcurrencyLimit::Learned> learned() const;
  /// Restores it; ignored with a fixed limit. After rules(), before the workers run.
  void restore(const ConcurrencyLimit::Learned& learned);
  /// Ends the window of measured latencies if it was long enough. Worker 0 calls it about ten times
  /// a second.
  void refresh(TimePoint now);

 private:
  friend class AgentSlot;
  struct Entry {
    std::shared_ptr<SlotWaiter> waiter;
    std::size_t mirror;
  };

  bool take_one() noexcept;
  void give() noexcept;
  void hand_out();
  bool grant_first();
  void publish();

  AgentCounters& counters_;
  std::atomic<unsigned> limit_{0};
  std::atomic<bool> measuring_{false};
  std::atomic<std::uint64_t> over_{0};

  // Sums over the attempts of the current window; used with `auto` only.
  struct alignas(64) Window {
    std::atomic<std::uint64_t> micros{0};
    std::atomic<std::uint32_t> answers{0};
    std::atomic<std::uint32_t> dropped{0};
    std::atomic<std::uint32_t> peak{0};
  } window_;

  AgentSlotRules rules_;  // these three: worker 0 only
  std::optional<ConcurrencyLimit> automatic_;
  std::optional<TimePoint> window_began_;

  std::mutex mutex_;
  std::deque<Entry> queue_;
};

inline AgentSlot::~AgentSlot() {
  if (of_ != nullptr) of_->give();
}

}  // namespace karmad
