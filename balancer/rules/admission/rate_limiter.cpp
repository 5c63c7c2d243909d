#include "balancer/rules/admission/rate_limiter.hpp"

#include <utility>

namespace karmad {
namespace {

using std::memory_order_relaxed;

}  // namespace

BucketRule RateLimiter::rule() const {
  return {.per_token = per_token_.load(memory_order_relaxed),
          .burst = burst_.load(memory_order_relaxed)};
}

void RateLimiter::store(const BucketRule& rule, std::uint32_t max_queue_depth) {
  per_token_.store(rule.per_token, memory_order_relaxed);
  burst_.store(rule.burst, memory_order_relaxed);
  max_queue_depth_.store(max_queue_depth, memory_order_relaxed);
}

void RateLimiter::change(const BucketRule& next, std::uint32_t max_queue_depth, TimePoint now) {
  const auto at = in_micros(now);
  const auto before = rule();
  // The time first: a concurrent price at the old rate, added to the new time, is an error of only
  // that price. In the other order it would be multiplied.
  auto empty_at = empty_at_.load(memory_order_relaxed);
  while (!empty_at_.compare_exchange_weak(empty_at, next.empty_at(before.balance(empty_at, at), at),
                                          memory_order_relaxed))
    continue;
  store(next, max_queue_depth);
}

template <class Allowed>
bool RateLimiter::take(double tokens, double now, Allowed allowed) {
  auto before = empty_at_.load(memory_order_relaxed);
  for (;;) {
    const auto current = rule();
    const auto after = current.after(before, tokens, now);
    if (!allowed(current, after)) return false;
    if (empty_at_.compare_exchange_weak(before, after, memory_order_relaxed)) return true;
  }
}

bool RateLimiter::try_acquire(double tokens, TimePoint now) {
  const auto at = in_micros(now);
  if (!take(tokens, at,
            [&](const auto& rule, double after) { return rule.has_tokens(after, at); })) {
    rejected_.fetch_add(1, memory_order_relaxed);
    return false;
  }
  succeeded(Micros(0));
  return true;
}

Micros RateLimiter::time_until(double tokens, TimePoint now) const {
  const auto at = in_micros(now);
  return as_long_as(rule().after(empty_at_.load(memory_order_relaxed), tokens, at) - at);
}

std::optional<RateLimiter::Reservation> RateLimiter::borrow(double tokens, TimePoint now) {
  const auto at = in_micros(now);
  double price = 0;
  Micros wait{0};
  bool in_queue = false;
  // Enters the queue first, so that a refused request never touches the bucket.
  const bool taken = take(tokens, at, [&](const auto& rule, double after) {
    price = rule.price(tokens);
    wait = whole_millis(after - at);
    if (wait > Micros(0) && !in_queue) in_queue = enter_queue();
    return wait == Micros(0) || in_queue;
  });
  if (!taken) {
    rejected_.fetch_add(1, memory_order_relaxed);
    return std::nullopt;
  }
  if (wait == Micros(0)) {
    if (in_queue) asleep_.fetch_sub(1, memory_order_relaxed);
    succeeded(wait);
    return Reservation(nullptr, 0, wait);
  }
  queued_.fetch_add(1, memory_order_relaxed);
  return Reservation(this, price, wait);
}

bool RateLimiter::would_borrow(TimePoint now) {
  const auto at = in_micros(now);
  const auto depth = max_queue_depth_.load(memory_order_relaxed);
  Micros wait{0};
  const bool taken = take(1, at, [&](const auto& rule, double after) {
    wait = whole_millis(after - at);
    return wait == Micros(0) || after - at <= rule.price(depth + BucketRule::kRounding);
  });
  if (!taken) {
    rejected_.fetch_add(1, memory_order_relaxed);
    return false;
  }
  if (wait > Micros(0)) {
    queued_.fetch_add(1, memory_order_relaxed);
    dequeued_.fetch_add(1, memory_order_relaxed);
  }
  succeeded(wait);
  return true;
}

bool RateLimiter::enter_queue() {
  auto asleep = asleep_.load(memory_order_relaxed);
  do {
    if (asleep >= max_queue_depth_.load(memory_order_relaxed)) return false;
  } while (!asleep_.compare_exchange_weak(asleep, asleep + 1, memory_order_relaxed));
  return true;
}

void RateLimiter::succeeded(Micros waited) {
  successful_.fetch_add(1, memory_order_relaxed);
  average_wait_.add(static_cast<double>(waited.count()));
}

RateLimiter::Reservation::Reservation(Reservation&& other) noexcept
    : limiter_(std::exchange(other.limiter_, nullptr)), price_(other.price_), wait_(other.wait_) {}

RateLimiter::Reservation::~Reservation() {
  if (limiter_ == nullptr) return;
  limiter_->empty_at_.fetch_sub(price_, memory_order_relaxed);
  limiter_->interrupted_.fetch_add(1, memory_order_relaxed);
  limiter_->dequeued_.fetch_add(1, memory_order_relaxed);
  limiter_->asleep_.fetch_sub(1, memory_order_relaxed);
}

void RateLimiter::Reservation::over() {
  if (limiter_ == nullptr) return;
  auto& limiter = *std::exchange(limiter_, nullptr);
  limiter.succeeded(wait_);
  limiter.dequeued_.fetch_add(1, memory_order_relaxed);
  limiter.asleep_.fetch_sub(1, memory_order_relaxed);
}

double RateLimiter::balance(TimePoint now) const {
  return rule().balance(empty_at_.load(memory_order_relaxed), in_micros(now));
}

RateCounts RateLimiter::counts(TimePoint now) const {
  RateCounts counts{.successful = successful_.load(memory_order_relaxed),
                    .rejected = rejected_.load(memory_order_relaxed),
                    .exempted = exempted_.load(memory_order_relaxed),
                    .queued = queued_.load(memory_order_relaxed),
                    .dequeued = dequeued_.load(memory_order_relaxed),
                    .interrupted = interrupted_.load(memory_order_relaxed),
                    .average_wait = average_wait_.get()};
  // The counters are read one by one: no more may seem to have left the queue than entered it.
  counts.queued = std::max(counts.queued, counts.dequeued);
  counts.attempted = counts.successful + counts.rejected + counts.interrupted + counts.waiting();
  constexpr auto kMost = 0x1p63;
  const auto tokens = std::max(0.0, balance(now));
  counts.available =
      tokens < kMost ? static_cast<std::int64_t>(tokens) : std::numeric_limits<std::int64_t>::max();
  return counts;
}

void write(StatsWriter& out, const RateCounts& counts) {
  out.add("rate_attempted", "admissions requested from the rate limiter", "attemptedAdmissions",
          counts.attempted);
  out.add("rate_successful", "admissions granted by the rate limiter", "successfulAdmissions",
          counts.successful);
  out.add("rate_rejected", "admissions refused by the rate limiter", "rejectedAdmissions",
          counts.rejected);
  out.add("rate_exempted", "exempt admissions, granted without the rate limiter",
          "exemptedAdmissions", counts.exempted);
  out.add("rate_tokens", "tokens of the rate limiter now", "totalAvailableTokens", counts.available,
          StatKind::gauge);
}

void write_queue(StatsWriter& out, const RateCounts& counts) {
  using enum StatKind;
  out.add("rate_queued", "connections put into the queue of the rate limiter", "addedToQueue",
          counts.queued);
  out.add("rate_dequeued", "connections that left the queue of the rate limiter",
          "removedFromQueue", counts.dequeued);
  out.add("rate_interrupted", "connections that ended in the queue of the rate limiter",
          "interruptedInQueue", counts.interrupted);
  out.add("rate_queued_time", "moving mean of the time in the queue of the rate limiter",
          "averageTimeQueuedMicros", static_cast<std::uint64_t>(counts.average_wait), gauge,
          Unit::microseconds);
}

}  // namespace karmad
