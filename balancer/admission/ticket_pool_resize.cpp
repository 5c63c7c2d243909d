#include <algorithm>

#include "balancer/admission/ticket_pool.hpp"

namespace karmad {

void TicketPool::settings(const PoolSettings& settings, TimePoint now) {
  Woken woken;
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
    depth_.store(settings_.depth(wanted_), std::memory_order_relaxed);
    settle(now, woken);
  }
  woken.wake(loops_);
}

void TicketPool::resize(std::uint32_t size, TimePoint now) {
  Woken woken;
  {
    const std::scoped_lock lock(mutex_);
    settings_.size = size;
    begin_resize(std::min(size, PoolSettings::kMost), now);
    depth_.store(settings_.depth(wanted_), std::memory_order_relaxed);
    settle(now, woken);
  }
  woken.wake(loops_);
}

void TicketPool::set_total(std::uint32_t size) {
  wanted_ = size;
  give_up_.reset();
  auto word = word_.load(std::memory_order_relaxed);
  while (!word_.compare_exchange_weak(word, with_total(word, size), std::memory_order_acq_rel)) {
  }
}

void TicketPool::begin_resize(std::uint32_t size, TimePoint now) {
  const bool smaller = size < total(word_.load(std::memory_order_relaxed));
  if (!smaller || settings_.resize == TicketResize::immediate) return set_total(size);
  if (size == wanted_ && give_up_) return;  // it is in progress
  wanted_ = size;
  give_up_ = now + settings_.stalled_after;
  word_.fetch_or(kAttention, std::memory_order_acq_rel);
}

/// Removes free tickets from the pool.
void TicketPool::shrink() {
  auto word = word_.load(std::memory_order_relaxed);
  for (;;) {
    const auto least = std::min(total(word), std::max(used(word), wanted_));
    if (least == total(word) ||
        word_.compare_exchange_weak(word, with_total(word, least), std::memory_order_acq_rel))
      break;
  }
  if (total(word_.load(std::memory_order_relaxed)) <= wanted_) give_up_.reset();
}

bool TicketPool::stalled(TimePoint now) {
  Woken woken;
  bool stuck = false;
  {
    const std::scoped_lock lock(mutex_);
    if (!give_up_) return false;
    settle(now, woken);
    stuck = give_up_ && now >= *give_up_;
    if (stuck) {
      set_total(total(word_.load(std::memory_order_relaxed)));
      settle(now, woken);
    }
  }
  woken.wake(loops_);
  return stuck;
}

bool TicketPool::resizing() const {
  const std::scoped_lock lock(mutex_);
  return give_up_.has_value();
}

PoolSettings TicketPool::settings() const {
  const std::scoped_lock lock(mutex_);
  return settings_;
}

}  // namespace karmad
