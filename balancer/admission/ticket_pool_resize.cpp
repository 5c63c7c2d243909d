#include <algorithm>

#include "balancer/admission/ticket_pool.hpp"

namespace karmad {

void TicketPool::settings(const PoolSettings& settings, TimePoint now) {
  WakeList to_wake;
  {
    const std::scoped_lock lock(mutex_);
    const bool was_counted = settings_.limits();
    settings_ = settings;
    line_.settings(settings.line);
    delinquent_after_.store(settings.delinquent_after.count(), std::memory_order_relaxed);
    if (!settings.limits()) {
      set_total(PoolSettings::kMost);
    } else if (!was_counted) {
      set_total(settings.tickets());
    } else {
      begin_resize(settings.tickets(), now);
    }
    counted_.store(settings.limits(), std::memory_order_relaxed);
    depth_.store(settings_.depth(target_), std::memory_order_relaxed);
    grant_free_tickets(now, to_wake);
  }
  to_wake.wake(loops_);
}

void TicketPool::resize(std::uint32_t size, TimePoint now) {
  WakeList to_wake;
  {
    const std::scoped_lock lock(mutex_);
    settings_.size = size;
    begin_resize(std::min(size, PoolSettings::kMost), now);
    depth_.store(settings_.depth(target_), std::memory_order_relaxed);
    grant_free_tickets(now, to_wake);
  }
  to_wake.wake(loops_);
}

void TicketPool::set_total(std::uint32_t size) {
  target_ = size;
  stalled_at_.reset();
  auto word = word_.load(std::memory_order_relaxed);
  while (!word_.compare_exchange_weak(word, with_total(word, size), std::memory_order_acq_rel)) {
  }
}

void TicketPool::begin_resize(std::uint32_t size, TimePoint now) {
  const bool smaller = size < total(word_.load(std::memory_order_relaxed));
  if (!smaller || settings_.resize == TicketResize::immediate) return set_total(size);
  if (size == target_ && stalled_at_) return;  // it is in progress
  target_ = size;
  stalled_at_ = now + settings_.stalled_after;
  word_.fetch_or(kAttention, std::memory_order_acq_rel);
}

/// Removes free tickets from the pool.
void TicketPool::shrink() {
  auto word = word_.load(std::memory_order_relaxed);
  for (;;) {
    const auto least = std::min(total(word), std::max(used(word), target_));
    if (least == total(word) ||
        word_.compare_exchange_weak(word, with_total(word, least), std::memory_order_acq_rel))
      break;
  }
  if (total(word_.load(std::memory_order_relaxed)) <= target_) stalled_at_.reset();
}

bool TicketPool::end_stalled_resize(TimePoint now) {
  WakeList to_wake;
  bool stuck = false;
  {
    const std::scoped_lock lock(mutex_);
    if (!stalled_at_) return false;
    grant_free_tickets(now, to_wake);
    stuck = stalled_at_ && now >= *stalled_at_;
    if (stuck) {
      set_total(total(word_.load(std::memory_order_relaxed)));
      grant_free_tickets(now, to_wake);
    }
  }
  to_wake.wake(loops_);
  return stuck;
}

bool TicketPool::resizing() const {
  const std::scoped_lock lock(mutex_);
  return stalled_at_.has_value();
}

PoolSettings TicketPool::settings() const {
  const std::scoped_lock lock(mutex_);
  return settings_;
}

}  // namespace karmad
