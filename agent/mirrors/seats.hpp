#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "agent/mirrors/concurrency_limit.hpp"
#include "agent/mirrors/vitals.hpp"
#include "agent/transport/loop/loops.hpp"

namespace karmad {

/// How many attempts may be in flight at an agent (`max_in_flight`).
struct SeatRules {
  unsigned most = 0;       ///< 0: any number
  bool automatic = false;  ///< as many as its latency allows, and never more than `most`
  ConcurrencyRules measured;
  bool enforced = true;  ///< else only counted
  bool operator==(const SeatRules&) const = default;
};

class Seats;

/// A seat at an agent: an attempt is in flight for as long as this lives. Moving it hands it over.
class Seat {
 public:
  Seat(Seat&& other) noexcept : of_(std::exchange(other.of_, nullptr)) {}
  Seat& operator=(Seat&& other) noexcept {
    std::swap(of_, other.of_);
    return *this;
  }
  ~Seat();

  /// The attempt was answered after this time, well enough to tell how busy the agent is.
  void answered(Micros took) noexcept;
  /// It was not answered in time, or refused as overload.
  void dropped() noexcept;

 private:
  friend class Seats;
  explicit Seat(Seats& of) : of_(&of) {}
  Seats* of_;
};

/// A query that waits for a seat at any of several agents. The query that frees one of these seats
/// takes it for the waiting one and tells its worker. Shared with the agents' lines; the worker's
/// own otherwise.
class Claim : public std::enable_shared_from_this<Claim> {
 public:
  Claim(const Loops& loops, unsigned worker) : loops_(loops), worker_(worker) {}

  /// Another thread has got a seat for it: the mirror's number. From then on the claim's owner has
  /// to take() it (InLine).
  std::optional<std::size_t> got() const {
    const auto state = state_.load(std::memory_order_acquire);
    return state >= 0 ? std::optional(static_cast<std::size_t>(state)) : std::nullopt;
  }
  /// Withdraws the claim; false when a seat has been taken for it already.
  bool give_up() { return move_on(kGone); }

  Signal* wake = nullptr;  ///< of its worker, while that waits

 private:
  friend class Seats;
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

/// The seats of one agent: how many attempts of queries are in flight there, at most how many may
/// be, and who waits for one of them, the oldest first. Pings have none. Any thread calls anything
/// that does not say otherwise.
///
/// Without a limit a seat costs an increment and a decrement; with one, a compare and exchange. A
/// lock is taken only while a query waits. Never more are in flight than the limit was when the
/// last one was let in.
class Seats {
 public:
  explicit Seats(Vitals& vitals) : vitals_(vitals) {}

  /// A seat, if one is free and no query waits for it.
  std::optional<Seat> try_take();
  /// Nothing can be taken now.
  bool full() const {
    const auto most = vitals_.most_in_flight.load(std::memory_order_relaxed);
    return most != 0 && (vitals_.in_flight.load(std::memory_order_relaxed) >= most ||
                         vitals_.claimed.load(std::memory_order_relaxed) != 0);
  }
  bool limited() const { return vitals_.most_in_flight.load(std::memory_order_relaxed) != 0; }
  /// The limit, also where it is only counted, without the moments in which `auto` measures; 0:
  /// none.
  unsigned limit() const { return limit_.load(std::memory_order_relaxed); }
  bool automatic() const { return measuring_.load(std::memory_order_relaxed); }
  /// Attempts that were let in only because the limit is not enforced.
  std::uint64_t over() const { return over_.load(std::memory_order_relaxed); }

  /// Joins the line for a seat; the mirror's number is what the claim will say it got. It may have
  /// got one when this returns.
  void join(const std::shared_ptr<Claim>& claim, std::size_t mirror);
  void leave(const Claim& claim);
  /// The seat that a claim got here.
  Seat take_granted() { return Seat(*this); }

  /// Other limits; what is in flight and who waits stays. By one thread at a time, worker 0 once it
  /// runs.
  void rules(const SeatRules& rules);
  /// Ends the window of measured latencies when it was long enough; call about ten times a second,
  /// on worker 0.
  void refresh(TimePoint now);

 private:
  friend class Seat;
  struct Entry {
    std::shared_ptr<Claim> claim;
    std::size_t mirror;
  };

  bool take_one() noexcept;
  void give() noexcept;
  void hand_out();
  bool grant_first();
  void publish();

  Vitals& vitals_;
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

  SeatRules rules_;  // worker 0's, as the next two
  std::optional<ConcurrencyLimit> automatic_;
  std::optional<TimePoint> window_began_;

  std::mutex mutex_;
  std::deque<Entry> line_;
};

inline Seat::~Seat() {
  if (of_ != nullptr) of_->give();
}

}  // namespace karmad
