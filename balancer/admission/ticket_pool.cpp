#include "balancer/admission/ticket_pool.hpp"

#include <algorithm>

namespace karmad {
namespace {

std::uint64_t elapsed_us(TimePoint from, TimePoint to) {
  return to > from ? static_cast<std::uint64_t>((to - from).count()) : 0;
}

}  // namespace

void Ticket::give_back() {
  if (pool_ != nullptr) give_back(counted_ ? Loop::now() : taken_);
}

void Ticket::give_back(TimePoint now) {
  if (auto* pool = std::exchange(pool_, nullptr)) pool->give_back(*this, now);
}

TicketPool::TicketPool(unsigned workers, const Loops& loops, const PoolSettings& settings)
    : word_(with_total(0, settings.tickets())),
      counted_(settings.limits()),
      depth_(settings.depth(settings.tickets())),
      delinquent_after_(settings.delinquent_after.count()),
      loops_(loops),
      cells_(workers),
      settings_(settings),
      line_(settings.line),
      target_(settings.tickets()) {}

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
    // With limits this request would have been refused, so it must not count against others.
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
  auto& cell = of_worker.by_priority[static_cast<std::size_t>(ticket.priority_)];
  if (!ticket.counted_) {
    cell.finished.add(1);
    return;
  }
  const auto held = elapsed_us(ticket.taken_, now);
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
  WakeList to_wake;
  {
    const std::scoped_lock lock(mutex_);
    grant_free_tickets(now, to_wake);
  }
  to_wake.wake(loops_);
}

TicketPool::AskResult TicketPool::ask(TicketWaiter& waiter, TimePoint now) {
  auto& cell = cells(waiter.worker, waiter.priority);
  waiter.since_ = now;
  WakeList to_wake;
  auto result = AskResult::queued;
  {
    const std::scoped_lock lock(mutex_);
    // From here on every request takes and returns tickets under the lock.
    word_.fetch_or(kAttention, std::memory_order_acq_rel);
    grant_free_tickets(now, to_wake);
    word_.fetch_or(kAttention, std::memory_order_acq_rel);
    if (line_.size() == 0 && has_free(word_.load(std::memory_order_relaxed))) {
      note_peak(used(word_.fetch_add(1, std::memory_order_acq_rel)) + 1);
      waiter.state_ = TicketWaiter::State::granted;
      result = AskResult::admitted;
    } else if (is_full()) {
      result = AskResult::refused;
    } else {
      if (line_.size() >= queue_depth()) line_.make_room(to_wake);
      line_.join(waiter);
      cell.added.add(1);
    }
    grant_free_tickets(now, to_wake);
  }
  if (result == AskResult::refused) cell.refused.add(1);
  to_wake.wake(loops_);
  return result;
}

bool TicketPool::refuses(unsigned worker, Priority priority, TimePoint now) {
  if (!exhausted()) return false;
  WakeList to_wake;
  bool full = false;
  {
    const std::scoped_lock lock(mutex_);
    grant_free_tickets(now, to_wake);
    full = is_full() && (line_.size() > 0 || !has_free(word_.load(std::memory_order_relaxed)));
  }
  to_wake.wake(loops_);
  if (full) cells(worker, priority).refused.add(1);
  return full;
}

bool TicketPool::cancel(TicketWaiter& waiter, TimePoint now) {
  WakeList to_wake;
  {
    const std::scoped_lock lock(mutex_);
    if (waiter.state_ != TicketWaiter::State::queued) return false;
    line_.leave(waiter);
    grant_free_tickets(now, to_wake);
  }
  to_wake.wake(loops_);
  auto& cell = cells(waiter.worker, waiter.priority);
  cell.canceled.add(1);
  cell.removed.add(1);
  cell.queued_us.add(elapsed_us(waiter.since_, now));
  return true;
}

Ticket TicketPool::collect(TicketWaiter& waiter, TimePoint now) {
  // The wake-up came after the lock was released, so its writes are visible here.
  auto& cell = cells(waiter.worker, waiter.priority);
  const bool waited = waiter.next_to_wake_ != nullptr;
  const bool granted = waiter.state_ == TicketWaiter::State::granted;
  waiter.state_ = TicketWaiter::State::idle;
  if (waited) {
    waiter.next_to_wake_ = nullptr;
    cell.removed.add(1);
    cell.queued_us.add(elapsed_us(waiter.since_, now));
  }
  if (granted) {
    cell.started.add(1);
    return {*this, now, waiter.worker, waiter.priority, true};
  }
  cell.canceled.add(1);
  cell.shed.add(1);
  return {};
}

/// Gives free tickets to waiting requests.
void TicketPool::grant_free_tickets(TimePoint now, WakeList& to_wake) {
  if (stalled_at_) shrink();
  while (line_.size() > 0 && has_free(word_.load(std::memory_order_acquire))) {
    line_.serve_next(now, to_wake);
    note_peak(used(word_.fetch_add(1, std::memory_order_acq_rel)) + 1);
  }
  waiting_.store(static_cast<std::uint32_t>(line_.size()), std::memory_order_relaxed);
  if (line_.size() > 0 || stalled_at_) {
    word_.fetch_or(kAttention, std::memory_order_acq_rel);
  } else {
    word_.fetch_and(~kAttention, std::memory_order_acq_rel);
  }
}

void TicketPool::measure(TimePoint now) {
  drain_.sample(finished(), exhausted(), now);
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
      finished += worker.by_priority[static_cast<std::size_t>(priority)].finished.get();
  return finished;
}

std::uint64_t TicketPool::waited() const {
  std::uint64_t waited = 0;
  for (const auto& worker : cells_)
    for (const auto priority : {Priority::normal, Priority::low}) {
      const auto& cell = worker.by_priority[static_cast<std::size_t>(priority)];
      waited += cell.added.get() + cell.refused.get();
    }
  return waited;
}

PoolStatistics TicketPool::statistics() const {
  auto statistics = sum(cells_);
  statistics.retry_after = retry_after();
  const auto word = word_.load(std::memory_order_relaxed);
  std::optional<std::uint32_t> size;
  bool counted = false;
  {
    const std::scoped_lock lock(mutex_);
    size = settings_.size;
    counted = settings_.limits();
    statistics.resizing = stalled_at_.has_value();
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
