#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "agent/stats/stats_writer.hpp"
#include "balancer/rules/admission/moving_average.hpp"
#include "balancer/rules/admission/token_bucket.hpp"

namespace karmad {

/// What a rate limiter has done, and where it stands (AC-037).
struct RateCounts {
  std::uint64_t attempted = 0;  ///< without the exempted ones
  std::uint64_t successful = 0;
  std::uint64_t rejected = 0;
  std::uint64_t exempted = 0;
  std::uint64_t queued = 0;       ///< put into the queue since the start
  std::uint64_t dequeued = 0;     ///< of them, those who are no longer there
  std::uint64_t interrupted = 0;  ///< of them, those who left before their time
  double average_wait = 0;        ///< microseconds
  std::int64_t available = 0;     ///< whole tokens; never negative

  std::uint64_t waiting() const { return queued - dequeued; }
};

void write(StatsWriter& out, const RateCounts& counts);
/// What a limiter with a queue has beside that.
void write_queue(StatsWriter& out, const RateCounts& counts);

/// A token bucket that any number of threads take from, without a lock and without a thread that
/// refills it (AC-030 … AC-037): one atomic holds the time at which the bucket was empty. It never
/// asks for the time and never sleeps; it says for how long to sleep.
class RateLimiter {
 public:
  /// Never limits, until change() says otherwise.
  RateLimiter() = default;
  explicit RateLimiter(const BucketRule& rule, std::uint32_t max_queue_depth = 0) {
    store(rule, max_queue_depth);
  }
  RateLimiter(const RateLimiter&) = delete;
  RateLimiter& operator=(const RateLimiter&) = delete;

  /// Other rules from now on. The tokens that are there stay, cut to the new capacity (AC-031); who
  /// is asleep sleeps on. One thread at a time.
  void change(const BucketRule& rule, std::uint32_t max_queue_depth, TimePoint now);

  /// Takes so many tokens, or none (AC-032).
  bool try_acquire(double tokens, TimePoint now);
  /// How long until so many would be there.
  Micros time_until(double tokens, TimePoint now) const;

  /// A place in the queue: tokens that were borrowed, and the time until they are paid back. Who
  /// drops it before that time gives the tokens back (AC-036).
  class Reservation {
   public:
    Reservation(Reservation&& other) noexcept;
    Reservation& operator=(Reservation&&) = delete;
    ~Reservation();
    /// How long to sleep, in whole milliseconds; 0: admitted already (AC-034).
    Micros wait() const { return wait_; }
    /// That was slept.
    void over();

   private:
    friend class RateLimiter;
    Reservation(RateLimiter* of, double price, Micros wait)
        : limiter_(of), price_(price), wait_(wait) {}
    RateLimiter* limiter_;  // null: nothing is outstanding
    double price_;
    Micros wait_;
  };
  /// Takes so many tokens even if the bucket then owes them, which is to be slept off (AC-033);
  /// nothing when too many sleep already (AC-035). The limiter must outlive the turn.
  std::optional<Reservation> borrow(double tokens, TimePoint now);
  /// Counts what borrow() would have done with one token, without sleeping; false: refused.
  bool would_borrow(TimePoint now);

  /// One that passes without a token (AC-042, AC-053).
  void exempt() { exempted_.fetch_add(1, std::memory_order_relaxed); }

  /// How many sleep now. One load.
  std::uint32_t asleep() const { return asleep_.load(std::memory_order_relaxed); }
  double balance(TimePoint now) const;
  RateCounts counts(TimePoint now) const;

 private:
  using Count = std::atomic<std::uint64_t>;
  BucketRule rule() const;
  void store(const BucketRule& rule, std::uint32_t max_queue_depth);
  /// Moves the time at which the bucket was empty by what `tokens` cost, when `allowed` says so of
  /// the new time.
  template <class Allowed>
  bool take(double tokens, double now, Allowed allowed);
  bool enter_queue();
  void succeeded(Micros waited);

  // The rule changes seldom. Who takes tokens while it does may pay by the old one, or read the new
  // time by it: the error is at most one token of the slower of the two.
  std::atomic<double> per_token_{0};
  std::atomic<double> burst_{BucketRule{}.burst};
  std::atomic<std::uint32_t> max_queue_depth_{0};
  alignas(64) std::atomic<double> empty_at_{BucketRule::kAlwaysFull};
  Count successful_{0};
  Count rejected_{0};
  Count exempted_{0};
  Count queued_{0};
  Count dequeued_{0};
  Count interrupted_{0};
  std::atomic<std::uint32_t> asleep_{0};
  MovingAverage average_wait_;
};

}  // namespace karmad
