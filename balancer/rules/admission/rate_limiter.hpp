#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

#include "agent/stats/stats_writer.hpp"
#include "strategies/time.hpp"

namespace karmad {

/// Rate and capacity of a token bucket (AC-031) that needs no refilling thread. The only state of
/// such a bucket is the time at which it was empty (AC-030), in microseconds of the process's
/// clock. A new bucket was empty infinitely long ago, so it starts full. Pure; the default never
/// limits.
struct BucketRule {
  double per_token = 0;                                    ///< microseconds
  double burst = std::numeric_limits<double>::infinity();  ///< until it is full; microseconds

  /// Checks the parameters of of(): why they are invalid, if they are.
  static std::optional<std::string_view> wrong(double per_second, double burst_seconds) {
    if (!(per_second > 0)) return "a rate must be more than 0";
    if (!(burst_seconds > 0)) return "a burst must be more than 0 seconds";
    return std::nullopt;
  }
  /// A rule of `per_second` tokens with a capacity of `burst_seconds`. If the product is too large
  /// for a number, the rule never limits.
  static BucketRule of(double per_second, double burst_seconds) {
    const BucketRule rule{.per_token = 1e6 / per_second, .burst = 1e6 * burst_seconds};
    return rule.limits() && std::isfinite(rule.capacity()) ? rule : BucketRule{};
  }

  static constexpr double kAlwaysFull = -std::numeric_limits<double>::infinity();

  bool limits() const { return std::isfinite(burst); }
  double capacity() const { return limits() ? burst / per_token : burst; }
  /// How far taking `tokens` advances the time.
  double price(double tokens) const { return tokens * per_token; }
  /// The new empty time after taking `tokens` at `now`, which may exceed the balance.
  double after(double empty_at, double tokens, double now) const {
    return std::max(empty_at, now - burst) + price(tokens);
  }
  /// Whether the balance is not negative; rounding errors are tolerated.
  bool has_tokens(double empty_at, double now) const { return empty_at <= now + price(kRounding); }
  /// Tokens in the bucket; negative: its debt.
  double balance(double empty_at, double now) const {
    return limits() ? std::min(burst, now - empty_at) / per_token : burst;
  }
  /// The empty time of a bucket with that many tokens.
  double empty_at(double tokens, double now) const {
    return tokens < capacity() ? now - price(tokens) : kAlwaysFull;
  }

  static constexpr double kRounding = 0.01;  // tokens
};

/// A time as the rules use it.
inline double in_micros(TimePoint at) {
  return static_cast<double>(at.time_since_epoch().count());
}
constexpr double kLongest = 1e15;  // 30 years
/// The duration rounded up to the clock's resolution.
inline Micros as_long_as(double micros) {
  return Micros(static_cast<Micros::rep>(std::ceil(std::clamp(micros, 0.0, kLongest))));
}

/// The duration in whole milliseconds, rounded down (AC-034).
inline Micros whole_millis(double micros) {
  return std::chrono::milliseconds(
      static_cast<Micros::rep>(std::clamp(micros, 0.0, kLongest) / 1000));
}

/// An exponential average: starts with the first sample, each further one has a weight of 0.2
/// (AC-037). Any thread adds and reads; while all samples are 0, adding one costs a load.
class MovingAverage {
 public:
  void add(double sample) noexcept {
    auto before = average_.load(std::memory_order_relaxed);
    double after = 0;
    do {
      after = before < 0 ? sample : kWeight * sample + (1 - kWeight) * before;
    } while (after != before &&
             !average_.compare_exchange_weak(before, after, std::memory_order_relaxed));
  }
  /// 0 before the first sample.
  double get() const noexcept {
    const auto average = average_.load(std::memory_order_relaxed);
    return average < 0 ? 0 : average;
  }

 private:
  static constexpr double kWeight = 0.2;
  std::atomic<double> average_{-1};  // no sample yet
};

/// Statistics of a rate limiter (AC-037).
struct RateCounts {
  std::uint64_t attempted = 0;  ///< without the exempted ones
  std::uint64_t successful = 0;
  std::uint64_t rejected = 0;
  std::uint64_t exempted = 0;
  std::uint64_t queued = 0;       ///< put into the queue since the start
  std::uint64_t dequeued = 0;     ///< part of these that have left the queue
  std::uint64_t interrupted = 0;  ///< part of these that left before their time
  double average_wait = 0;        ///< microseconds
  std::int64_t available = 0;     ///< whole tokens; never negative

  std::uint64_t waiting() const { return queued - dequeued; }
};

void write(StatsWriter& out, const RateCounts& counts);
/// Writes the further numbers of a limiter with a queue.
void write_queue(StatsWriter& out, const RateCounts& counts);

/// A token bucket that many threads use without a lock and without a refilling thread (AC-030 …
/// AC-037): one atomic holds the time at which the bucket was empty. It reads no clock and never
/// sleeps; it returns how long to sleep.
class RateLimiter {
 public:
  /// Unlimited until change() sets a rate.
  RateLimiter() = default;
  explicit RateLimiter(const BucketRule& rule, std::uint32_t max_queue_depth = 0) {
    store(rule, max_queue_depth);
  }
  RateLimiter& operator=(RateLimiter&&) = delete;

  /// Changes the rules. Tokens are kept, up to the new capacity (AC-031); sleeping requests sleep
  /// on. One thread at a time.
  void change(const BucketRule& rule, std::uint32_t max_queue_depth, TimePoint now);

  /// Takes all these tokens, or none (AC-032).
  bool try_acquire(double tokens, TimePoint now);
  /// Time until that many tokens will be there.
  Micros time_until(double tokens, TimePoint now) const;

  /// A place in the queue: borrowed tokens and the time to sleep until they are earned. Destroyed
  /// before that time, it returns the tokens (AC-036).
  class Reservation {
   public:
    Reservation(Reservation&& other) noexcept;
    Reservation& operator=(Reservation&&) = delete;
    ~Reservation();
    /// How long to sleep, in whole milliseconds; 0: admitted at once (AC-034).
    Micros wait() const { return wait_; }
    /// The sleep is over.
    void over();

   private:
    friend class RateLimiter;
    Reservation(RateLimiter* of, double price, Micros wait)
        : limiter_(of), price_(price), wait_(wait) {}
    RateLimiter* limiter_;  // null: nothing is outstanding
    double price_;
    Micros wait_;
  };
  /// Takes the tokens even if that makes the balance negative; the caller must sleep (AC-033).
  /// Nothing if too many sleep already (AC-035). The limiter must outlive the reservation.
  std::optional<Reservation> borrow(double tokens, TimePoint now);
  /// Counts what borrow() of one token would do, without a sleep; false: refused.
  bool would_borrow(TimePoint now);

  /// Counts one that passes without a token (AC-042, AC-053).
  void exempt() { exempted_.fetch_add(1, std::memory_order_relaxed); }

  /// Number of sleeping requests. One load.
  std::uint32_t asleep() const { return asleep_.load(std::memory_order_relaxed); }
  double balance(TimePoint now) const;
  RateCounts counts(TimePoint now) const;

 private:
  using Count = std::atomic<std::uint64_t>;
  BucketRule rule() const;
  void store(const BucketRule& rule, std::uint32_t max_queue_depth);
  /// Advances the time at which the bucket was empty by the cost of `tokens`, if `allowed` accepts
  /// the new time.
  template <class Allowed>
  bool take(double tokens, double now, Allowed allowed);
  bool enter_queue();
  void succeeded(Micros waited);

  // The rule changes rarely. A thread that takes tokens meanwhile may use a part of the old rule:
  // the error is at most one token of the slower rule.
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
