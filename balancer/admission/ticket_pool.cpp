#include "balancer/admission/ticket_pool.hpp"

#include <algorithm>

namespace karmad {
namespace {

std::uint64_t passed(TimePoint from, TimePoint to) {
  return to > from ? static_cast<std::uint64_t>((to - from).count()) : 0;
}

std::uint32_t size_of(const PoolSettings& settings) {
  return settings.counted && settings.size ? std::min(*settings.size, TicketPool::kMost)
                                           : TicketPool::kMost;
}

bool counts(const PoolSettings& settings) {
  return settings.counted && settings.size;
}

std::uint32_t depth_of(const PoolSettings& settings, std::uint32_t size) {
  return settings.queue_depth.value_or(
      static_cast<std::uint32_t>(std::min<std::uint64_t>(4ull * size, TicketPool::kMost)));
}

}  // namespace

void Ticket::give_back() {
  if (pool_ != nullptr) give_back(counted_ ? Loop::now() : taken_);
}

void Ticket::give_back(TimePoint now) {
  if (auto* pool = std::exchange(pool_, nullptr)) pool->give_back(*this, now);
}

TicketPool::TicketPool(unsigned workers, const Loops& loops, const PoolSettings& settings)
    : word_(with_total(0, size_of(settings))),
      counted_(counts(settings)),
      depth_(depth_of(settings, size_of(settings))),
      delinquent_after_(settings.delinquent_after.count()),
      loops_(loops),
      cells_(workers),
      settings_(settings),
      discipline_(settings.discipline),
      wanted_(size_of(settings)) {}

void TicketPool::note_peak(std::uint32_t in_use) {
  auto peak = peak_.load(std::memory_order_relaxed);
  while (in_use > peak && !peak_.compare_exchange_weak(peak, in_use, std::memory_order_relaxed)) {
  }
}

Ticket TicketPool::try_take(unsigned worker, Priority priority, TimePoint now) {
  if (counted_.load(std::memory_order_relaxed)) {
    auto word = word_.load(std::memory_order_relaxed);
    do {
      if ((word & kAttention) != 0 || used(word) >= total(word)) return {};
    } while (!word_.compare_exchange_weak(word, word + 1, std::memory_order_acquire,
                                          std::memory_order_relaxed));
    note_peak(used(word) + 1);
    cells(worker, priority).started.add(1);
    return {*this, now, worker, priority, true};
  }
  cells(worker, priority).started.add(1);
  return {*this, now, worker, priority, false};
}

Ticket TicketPool::exempt(unsigned worker, TimePoint now) {
  cells(worker, Priority::exempt).started.add(1);
  return {*this, now, worker, Priority::exempt, false};
}

Ticket TicketPool::watch(unsigned worker, Priority priority, TimePoint now) {
  auto& cell = cells(worker, priority);
  cell.started.add(1);
  if (!counted_.load(std::memory_order_relaxed)) return {*this, now, worker, priority, false};
  auto word = word_.load(std::memory_order_relaxed);
  std::uint32_t over = 0;
  do {
    over = used(word) < total(word) ? 0 : used(word) - total(word) + 1;
    // Who would have been refused would not be here: it must not keep others out.
    if (over > depth_.load(std::memory_order_relaxed)) {
      cell.would_refuse.add(1);
      return {*this, now, worker, priority, false};
    }
  } while (!word_.compare_exchange_weak(word, word + 1, std::memory_order_acquire,
                                        std::memory_order_relaxed));
  if (over > 0) cell.would_queue.add(1);
  note_peak(used(word) + 1);
  return {*this, now, worker, priority, true};
}

void TicketPool::give_back(const Ticket& ticket, TimePoint now) {
  auto& of_worker = cells_[ticket.worker_];
  auto& cell = of_worker.of[static_cast<std::size_t>(ticket.priority_)];
  if (!ticket.counted_) {
    cell.finished.add(1);
    return;
  }
  const auto held = passed(ticket.taken_, now);
  cell.processing_us.add(held);
  cell.finished.add(1);
  if (static_cast<std::int64_t>(held) > delinquent_after_.load(std::memory_order_relaxed)) {
    const auto ms = held / 1000;
    of_worker.delinquent.add(1);
    of_worker.delinquent_ms.add(ms);
    if (ms > of_worker.delinquent_ms_most.get()) of_worker.delinquent_ms_most.set(ms);
  }
  const auto before = word_.fetch_sub(1, std::memory_order_acq_rel);
  if ((before & kAttention) == 0) return;
  TicketWaiter* woken = nullptr;
  {
    const std::scoped_lock lock(mutex_);
    settle(now, woken);
  }
  wake(woken);
}

TicketPool::Asked TicketPool::ask(TicketWaiter& waiter, TimePoint now) {
  auto& cell = cells(waiter.worker, waiter.priority);
  waiter.since_ = now;
  TicketWaiter* woken = nullptr;
  auto asked = Asked::queued;
  {
    const std::scoped_lock lock(mutex_);
    // From here on nobody takes a ticket without the lock, and who gives one back comes for it.
    word_.fetch_or(kAttention, std::memory_order_acq_rel);
    settle(now, woken);
    word_.fetch_or(kAttention, std::memory_order_acq_rel);
    if (waiting() == 0 && has_free(word_.load(std::memory_order_relaxed))) {
      note_peak(used(word_.fetch_add(1, std::memory_order_acq_rel)) + 1);
      waiter.state_ = TicketWaiter::State::granted;
      asked = Asked::admitted;
    } else if (waiting() >= queue_depth() && !make_room(waiter.priority, woken)) {
      asked = Asked::refused;
    } else {
      waiter.state_ = TicketWaiter::State::queued;
      if (waiter.priority == Priority::low) {
        low_.insert(waiter);
      } else {
        normal_.push_back(waiter);
      }
      cell.added.add(1);
    }
    settle(now, woken);
  }
  if (asked == Asked::refused) cell.refused.add(1);
  wake(woken);
  return asked;
}

bool TicketPool::cancel(TicketWaiter& waiter, TimePoint now) {
  TicketWaiter* woken = nullptr;
  {
    const std::scoped_lock lock(mutex_);
    if (waiter.state_ != TicketWaiter::State::queued) return false;
    leave(waiter, TicketWaiter::State::idle, woken);
    settle(now, woken);
  }
  wake(woken);
  auto& cell = cells(waiter.worker, waiter.priority);
  cell.canceled.add(1);
  cell.removed.add(1);
  cell.queued_us.add(passed(waiter.since_, now));
  return true;
}

Ticket TicketPool::collect(TicketWaiter& waiter, TimePoint now) {
  // Woken after the lock was left: what it wrote is here.
  auto& cell = cells(waiter.worker, waiter.priority);
  const bool waited = waiter.next_woken_ != nullptr;
  const bool granted = waiter.state_ == TicketWaiter::State::granted;
  waiter.state_ = TicketWaiter::State::idle;
  if (waited) {
    waiter.next_woken_ = nullptr;
    cell.removed.add(1);
    cell.queued_us.add(passed(waiter.since_, now));
  }
  if (granted) {
    cell.started.add(1);
    return {*this, now, waiter.worker, waiter.priority, true};
  }
  cell.canceled.add(1);
  cell.shed.add(1);
  return {};
}

void TicketPool::settings(const PoolSettings& settings, TimePoint now) {
  TicketWaiter* woken = nullptr;
  {
    const std::scoped_lock lock(mutex_);
    const bool was_counted = counts(settings_);
    settings_ = settings;
    discipline_.settings(settings.discipline);
    delinquent_after_.store(settings.delinquent_after.count(), std::memory_order_relaxed);
    if (!counts(settings)) {
      set_total(kMost);
    } else if (!was_counted) {
      set_total(size_of(settings));
    } else {
      begin_resize(size_of(settings), now);
    }
    counted_.store(counts(settings), std::memory_order_relaxed);
    depth_.store(depth_of(settings_, wanted_), std::memory_order_relaxed);
    settle(now, woken);
  }
  wake(woken);
}

void TicketPool::resize(std::uint32_t size, TimePoint now) {
  TicketWaiter* woken = nullptr;
  {
    const std::scoped_lock lock(mutex_);
    settings_.size = size;
    begin_resize(std::min(size, kMost), now);
    depth_.store(depth_of(settings_, wanted_), std::memory_order_relaxed);
    settle(now, woken);
  }
  wake(woken);
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
  if (size == wanted_ && give_up_) return;  // it is under way
  wanted_ = size;
  give_up_ = now + settings_.stalled_after;
  word_.fetch_or(kAttention, std::memory_order_acq_rel);
}

/// Takes the tickets that nobody has.
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
  TicketWaiter* woken = nullptr;
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
  wake(woken);
  return stuck;
}

bool TicketPool::resizing() const {
  const std::scoped_lock lock(mutex_);
  return give_up_.has_value();
}

/// Gives what is free to those who wait.
void TicketPool::settle(TimePoint now, TicketWaiter*& woken) {
  if (give_up_) shrink();
  while (waiting() > 0 && has_free(word_.load(std::memory_order_acquire))) {
    auto* const served = next(now, woken);
    note_peak(used(word_.fetch_add(1, std::memory_order_acq_rel)) + 1);
    leave(*served, TicketWaiter::State::granted, woken);
  }
  if (waiting() > 0 || give_up_) {
    word_.fetch_or(kAttention, std::memory_order_acq_rel);
  } else {
    word_.fetch_and(~kAttention, std::memory_order_acq_rel);
  }
}

TicketWaiter* TicketPool::next(TimePoint now, TicketWaiter*& woken) {
  if (normal_.empty()) return &*low_.begin();
  for (;;) {
    const auto oldest = Micros{static_cast<std::int64_t>(passed(normal_.front().since_, now))};
    switch (discipline_.next(normal_.size(), oldest, now)) {
      case QueueMove::serve_oldest:
        return &normal_.front();
      case QueueMove::serve_newest:
        return &normal_.back();
      case QueueMove::shed_oldest:
        shed_oldest(woken);
    }
  }
}

void TicketPool::shed_oldest(TicketWaiter*& woken) {
  leave(normal_.front(), TicketWaiter::State::shed, woken);
}

/// Whoever waits with low priority goes first, then the oldest where the newest are served.
bool TicketPool::make_room(Priority comes, TicketWaiter*& woken) {
  if (comes == Priority::low || queue_depth() == 0) return false;
  if (!low_.empty()) {
    leave(*low_.rbegin(), TicketWaiter::State::shed, woken);
    return true;
  }
  if (!discipline_.newest_first()) return false;
  shed_oldest(woken);
  return true;
}

/// Takes it out of its queue; unless it went by itself (`idle`), it will be woken.
void TicketPool::leave(TicketWaiter& waiter, TicketWaiter::State state, TicketWaiter*& woken) {
  if (waiter.priority == Priority::low) {
    low_.erase(low_.iterator_to(waiter));
  } else {
    normal_.erase(normal_.iterator_to(waiter));
    if (normal_.empty()) discipline_.emptied();
  }
  waiter.state_ = state;
  if (state == TicketWaiter::State::idle) return;
  // The last one of the list points to itself: being in it can be told.
  waiter.next_woken_ = woken != nullptr ? woken : &waiter;
  woken = &waiter;
}

/// Without the lock: the loops have locks of their own.
void TicketPool::wake(TicketWaiter* woken) const {
  while (woken != nullptr) {
    auto* const next = woken->next_woken_ == woken ? nullptr : woken->next_woken_;
    loops_.post(woken->worker, [woken] { woken->woken(); });
    woken = next;
  }
}

PoolSettings TicketPool::settings() const {
  const std::scoped_lock lock(mutex_);
  return settings_;
}

std::uint32_t TicketPool::take_peak() {
  const auto now = used(word_.load(std::memory_order_relaxed));
  return std::max(peak_.exchange(now, std::memory_order_relaxed), now);
}

std::uint32_t TicketPool::size() const {
  return total(word_.load(std::memory_order_relaxed));
}

std::uint64_t TicketPool::finished() const {
  std::uint64_t finished = 0;
  for (const auto& worker : cells_)
    for (const auto priority : {Priority::normal, Priority::low})
      finished += worker.of[static_cast<std::size_t>(priority)].finished.get();
  return finished;
}

std::uint64_t TicketPool::waited() const {
  std::uint64_t waited = 0;
  for (const auto& worker : cells_)
    for (const auto priority : {Priority::normal, Priority::low}) {
      const auto& cell = worker.of[static_cast<std::size_t>(priority)];
      waited += cell.added.get() + cell.refused.get();
    }
  return waited;
}

PoolStatistics TicketPool::statistics() const {
  auto statistics = sum(cells_);
  const auto word = word_.load(std::memory_order_relaxed);
  std::optional<std::uint32_t> size;
  bool counted = false;
  {
    const std::scoped_lock lock(mutex_);
    size = settings_.size;
    counted = counts(settings_);
    statistics.resizing = give_up_.has_value();
  }
  if (counted) {
    statistics.out = used(word);
    statistics.total = total(word);
    statistics.available = std::int64_t{total(word)} - used(word);
    statistics.peak = peak_.load(std::memory_order_relaxed);
  } else {
    statistics.out =
        statistics[Priority::normal].processing() + statistics[Priority::low].processing();
    statistics.total = size;
    if (size)
      statistics.available = std::int64_t{*size} - static_cast<std::int64_t>(statistics.out);
  }
  return statistics;
}

}  // namespace karmad
