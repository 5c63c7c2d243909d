#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "agent/mirrors/agent_counters.hpp"
#include "agent/mirrors/concurrency_limit.hpp"
#include "agent/transport/loop/loops.hpp"

namespace karmad {

/// How many attempts may be in flight at an agent (`max_in_flight`).
struct AgentSlotRules {
  unsigned most = 0;       ///< 0: any number
  bool automatic = false;  ///< as many as its latency allows, and never more than `most`
  ConcurrencyRules measured;
  bool enforced = true;  ///< else only counted
  bool operator==(const AgentSlotRules&) const = default;
};

class AgentSlots;

/// A slot at an agent: an attempt is in flight for as long as this lives. Moving it hands it over.
class AgentSlot {
 public:
  AgentSlot(AgentSlot&& other) noexcept : of_(std::exchange(other.of_, nullptr)) {}
  AgentSlot& operator=(AgentSlot&& other) noexcept {
    std::swap(of_, other.of_);
    return *this;
  }
  ~AgentSlot();

  /// The attempt was answered after this time, well enough to tell how busy the agent is.
  void answered(Micros took) noexcept;
  /// It was not answered in time, or refused as overload.
  void dropped() noexcept;

 private:
  friend class AgentSlots;
  explicit AgentSlot(AgentSlots& of) : of_(&of) {}
  AgentSlots* of_;
};

/// A query that waits for a slot at any of several agents. The query that frees one of these slots
/// takes it for the waiting one and tells its worker. Shared with the agents' lines; the worker's
/// own otherwise.
class SlotWaiter : public std::enable_shared_from_this<SlotWaiter> {
 public:
  SlotWaiter(const Loops& loops, unsigned worker) : loops_(loops), worker_(worker) {}

  /// Another thread has got a slot for it: the mirror's number. From then on the waiter's owner has
  /// to take() it (QueuedWait).
  std::optional<std::size_t> got() const {
    const auto state = state_.load(std::memory_order_acquire);
    return state >= 0 ? std::optional(static_cast<std::size_t>(state)) : std::nullopt;
  }
  /// Withdraws the waiter; false when a slot has been taken for it already.
  bool give_up() { return move_on(kGone); }

  AsyncEvent* wake = nullptr;  ///< of its worker, while that waits

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

/// The slots of one agent: how many attempts of queries are in flight there, at most how many may
/// be, and who waits for one of them, the oldest first. Pings have none. Any thread calls anything
/// that does not say otherwise.
///
/// Without a limit a slot costs an increment and a decrement; with one, a compare and exchange. A
/// lock is taken only while a query waits. Never more are in flight than the limit was when the
/// last one was let in.
class AgentSlots {
 public:
  explicit AgentSlots(AgentCounters& counters) : counters_(counters) {}

  /// A slot, if one is free and no query waits for it.
  std::optional<AgentSlot> try_take();
  /// Nothing can be taken now.
  bool full() const {
    const auto most = counters_.most_in_flight.load(std::memory_order_relaxed);
    return most != 0 && (counters_.in_flight.load(std::memory_order_relaxed) >= most ||
                         counters_.claimed.load(std::memory_order_relaxed) != 0);
  }
  bool limited() const { return counters_.most_in_flight.load(std::memory_order_relaxed) != 0; }
  /// The limit, also where it is only counted, without the moments in which `auto` measures; 0:
  /// none.
  unsigned limit() const { return limit_.load(std::memory_order_relaxed); }
  bool automatic() const { return measuring_.load(std::memory_order_relaxed); }
  /// Attempts that were let in only because the limit is not enforced.
  std::uint64_t over() const { return over_.load(std::memory_order_relaxed); }

  /// Joins the line for a slot; the mirror's number is what the waiter will say it got. It may have
  /// got one when this returns.
  void join(const std::shared_ptr<SlotWaiter>& waiter, std::size_t mirror);
  void leave(const SlotWaiter& waiter);
  /// The slot that a waiter got here.
  AgentSlot take_granted() { return AgentSlot(*this); }

  /// Other limits; what is in flight and who waits stays. By one thread at a time, worker 0 once it
  /// runs.
  void rules(const AgentSlotRules& rules);
  /// Ends the window of measured latencies when it was long enough; call about ten times a second,
  /// on worker 0.
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

  // What the attempts of the current window came to; only with `auto`.
  struct alignas(64) Window {
    std::atomic<std::uint64_t> micros{0};
    std::atomic<std::uint32_t> answers{0};
    std::atomic<std::uint32_t> dropped{0};
    std::atomic<std::uint32_t> peak{0};
  } window_;

  AgentSlotRules rules_;  // worker 0's, as the next two
  std::optional<ConcurrencyLimit> automatic_;
  std::optional<TimePoint> window_began_;

  std::mutex mutex_;
  std::deque<Entry> line_;
};

inline AgentSlot::~AgentSlot() {
  if (of_ != nullptr) of_->give();
}

}  // namespace karmad
