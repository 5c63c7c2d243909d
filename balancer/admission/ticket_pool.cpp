#include "balancer/admission/ticket_pool.hpp"

#include "config/text/enum_names.hpp"

namespace karmad {
namespace {

std::uint64_t elapsed_us(TimePoint from, TimePoint to) {
  return to > from ? static_cast<std::uint64_t>((to - from).count()) : 0;
}

}  // namespace

void WakeList::add(TicketWaiter& waiter) {
  // The last element points to itself, so that membership in the list is visible.
  waiter.next_to_wake_ = first_ != nullptr ? first_ : &waiter;
  first_ = &waiter;
}

WakeList::~WakeList() {
  while (auto* const waiter = first_) {
    first_ = waiter->next_to_wake_ == waiter ? nullptr : waiter->next_to_wake_;
    loops_.post(waiter->worker, [waiter] { waiter->on_wake(); });
  }
}

void TicketLine::settings(const LineSettings& settings) {
  fewest_admissions_ = settings.fewest_admissions;
  auto discipline = settings.discipline;
  if (fewest_admissions_) discipline.order = QueueOrder::fifo;
  discipline_.settings(discipline);
}

void TicketLine::join(TicketWaiter& waiter) {
  waiter.state_ = TicketWaiter::State::queued;
  waiter.rank_ = fewest_admissions_ ? waiter.admissions : 0;
  waiting_.insert(waiting_.end(), waiter);
}

void TicketLine::serve_next(TimePoint now, WakeList& to_wake) {
  auto& served = next(now, to_wake);
  remove(served, TicketWaiter::State::granted);
  to_wake.add(served);
}

TicketWaiter& TicketLine::next(TimePoint now, WakeList& to_wake) {
  for (;;) {
    auto& first = *waiting_.begin();
    const auto oldest = std::max(Micros{0}, std::chrono::duration_cast<Micros>(now - first.since_));
    switch (discipline_.next(waiting_.size(), oldest, now)) {
      case QueueMove::serve_oldest:
        return first;
      case QueueMove::serve_newest:
        return *waiting_.rbegin();
      case QueueMove::shed_oldest:
        make_room(to_wake);
    }
  }
}

void TicketLine::make_room(WakeList& to_wake) {
  auto& oldest = *waiting_.begin();
  remove(oldest, TicketWaiter::State::shed);
  to_wake.add(oldest);
}

void TicketLine::remove(TicketWaiter& waiter, TicketWaiter::State state) {
  waiting_.erase(waiting_.iterator_to(waiter));
  waiter.state_ = state;
  if (waiting_.empty()) discipline_.emptied();
}

std::string_view name(Priority priority) {
  static constexpr auto kNames = enumerators<Priority>();
  static_assert(kNames.all().size() == kPriorities);
  return kNames[priority];
}

PoolStatistics sum(std::span<const WorkerTickets> workers) {
  PoolStatistics sums;
  for (const auto& worker : workers) {
    for (std::size_t i = 0; i < kPriorities; ++i) {
      const auto& cells = worker.by_priority[i];
      auto& of = sums.by_priority[i];
      of.removed_from_queue += cells.removed_from_queue.get();
      of.finished_processing += cells.finished_processing.get();
      of.added_to_queue += cells.added_to_queue.get();
      of.started_processing += cells.started_processing.get();
      of.total_time_processing_us += cells.total_time_processing_us.get();
      of.total_time_queued_us += cells.total_time_queued_us.get();
      of.canceled += cells.canceled.get();
      of.shed += cells.shed.get();
      of.refused += cells.refused.get();
      of.would_queue += cells.would_queue.get();
      of.would_refuse += cells.would_refuse.get();
    }
    sums.delinquent += worker.delinquent.get();
    sums.delinquent_ms += worker.delinquent_ms.get();
    sums.delinquent_ms_most = std::max(sums.delinquent_ms_most, worker.delinquent_ms_most.get());
  }
  for (auto& of : sums.by_priority) {
    of.added_to_queue = std::max(of.added_to_queue, of.removed_from_queue);
    of.started_processing = std::max(of.started_processing, of.finished_processing);
  }
  return sums;
}

void write(StatsWriter& out, const PriorityStatistics& of) {
  using enum StatKind;
  out.add("pool_queued", "requests put into the queue", "addedToQueue", of.added_to_queue);
  out.add("pool_dequeued", "requests that left the queue", "removedFromQueue",
          of.removed_from_queue);
  out.add("pool_queue_length", "requests in the queue now", "queueLength", of.queue_length(),
          gauge);
  out.add("pool_started", "requests that got a ticket", "startedProcessing", of.started_processing);
  out.add("pool_processing", "requests that have a ticket now", "processing", of.processing(),
          gauge);
  out.add("pool_finished", "requests that gave their ticket back", "finishedProcessing",
          of.finished_processing);
  out.add("pool_processing_time", "total time that requests had tickets",
          "totalTimeProcessingMicros", of.total_time_processing_us, counter, Unit::microseconds);
  out.add("pool_canceled", "requests that left the queue without a ticket", "canceled",
          of.canceled);
  out.add("pool_admissions", "requests that got a ticket; the same as pool_started",
          "newAdmissions", of.started_processing);
  out.add("pool_queued_time", "total time of requests in the queue", "totalTimeQueuedMicros",
          of.total_time_queued_us, counter, Unit::microseconds);
  out.add("pool_shed", "requests removed from the queue to make room, or after too long a wait",
          "shed", of.shed);
  out.add("pool_refused", "requests refused because the queue was full", "refused", of.refused);
  out.add("pool_would_queue", "requests that would wait for a ticket with admission = enforce",
          "wouldQueue", of.would_queue);
  out.add("pool_would_refuse", "requests that would be refused with admission = enforce",
          "wouldRefuse", of.would_refuse);
}

void write(StatsWriter& out, const PoolStatistics& pool) {
  using enum StatKind;
  out.add({"pool_tickets_out", "tickets in use", gauge, Unit::count, "tickets_out", "out"},
          pool.out);
  out.add({"pool_tickets_available", "free tickets", gauge, Unit::count, "tickets_available",
           "available"},
          StatValue::limit(pool.available));
  out.add(
      {"pool_tickets", "number of tickets", gauge, Unit::count, "tickets_total", "totalTickets"},
      StatValue::limit(pool.total));
  out.add({"pool_tickets_queued", "requests that wait now for a ticket", gauge, Unit::count,
           "tickets_queued", kHidden},
          pool.queued());
  out.add("pool_peak", "most tickets in use at a time since the last measurement of probing",
          "peak", pool.peak, gauge);
  out.add("pool_resizing", "1: the pool becomes smaller and waits for tickets to come back",
          "resizing", pool.resizing, gauge, Unit::flag);
  out.add("pool_retry_after", "Retry-After of requests refused now", "retryAfterSeconds",
          pool.retry_after.count(), gauge, Unit::seconds);
}

void write_delinquent(StatsWriter& out, const PoolStatistics& pool) {
  using enum StatKind;
  out.add("pool_delinquent", "tickets held longer than ticket_delinquent_after", "count",
          pool.delinquent);
  out.add("pool_delinquent_time", "total time of tickets held longer than ticket_delinquent_after",
          "totalMillis", pool.delinquent_ms, counter, Unit::milliseconds);
  out.add("pool_delinquent_longest", "longest time that one ticket was held", "maxMillis",
          pool.delinquent_ms_most, gauge, Unit::milliseconds);
}

void Ticket::give_back_now() {
  give_back(counted_ ? Loop::now() : taken_);
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
    cells(worker, priority).started_processing.add(1);
    return {*this, now, worker, priority, true};
  }
  cells(worker, priority).started_processing.add(1);
  return {*this, now, worker, priority, false};
}

Ticket TicketPool::exempt(unsigned worker, TimePoint now) {
  cells(worker, Priority::exempt).started_processing.add(1);
  return {*this, now, worker, Priority::exempt, false};
}

Ticket TicketPool::watch(unsigned worker, Priority priority, TimePoint now) {
  auto& cell = cells(worker, priority);
  cell.started_processing.add(1);
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
    cell.finished_processing.add(1);
    return;
  }
  const auto held = elapsed_us(ticket.taken_, now);
  cell.total_time_processing_us.add(held);
  cell.finished_processing.add(1);
  if (static_cast<std::int64_t>(held) > delinquent_after_.load(std::memory_order_relaxed)) {
    const auto ms = held / 1000;
    of_worker.delinquent.add(1);
    of_worker.delinquent_ms.add(ms);
    if (ms > of_worker.delinquent_ms_most.get()) of_worker.delinquent_ms_most.set(ms);
  }
  const auto before = word_.fetch_sub(1, std::memory_order_acq_rel);
  if ((before & kAttention) == 0) return;
  WakeList to_wake(loops_);
  const std::scoped_lock lock(mutex_);
  grant_free_tickets(now, to_wake);
}

TicketPool::AskResult TicketPool::ask(TicketWaiter& waiter, TimePoint now) {
  auto& cell = cells(waiter.worker, waiter.priority);
  waiter.since_ = now;
  WakeList to_wake(loops_);
  const std::scoped_lock lock(mutex_);
  // From here on every request takes and returns tickets under the lock.
  word_.fetch_or(kAttention, std::memory_order_acq_rel);
  grant_free_tickets(now, to_wake);
  word_.fetch_or(kAttention, std::memory_order_acq_rel);
  auto result = AskResult::queued;
  if (line_.size() == 0 && has_free(word_.load(std::memory_order_relaxed))) {
    note_peak(used(word_.fetch_add(1, std::memory_order_acq_rel)) + 1);
    waiter.state_ = TicketWaiter::State::granted;
    result = AskResult::admitted;
  } else if (is_full()) {
    cell.refused.add(1);
    result = AskResult::refused;
  } else {
    if (line_.size() >= queue_depth()) line_.make_room(to_wake);
    line_.join(waiter);
    cell.added_to_queue.add(1);
  }
  grant_free_tickets(now, to_wake);
  return result;
}

bool TicketPool::refuses(unsigned worker, Priority priority, TimePoint now) {
  if (!exhausted()) return false;
  WakeList to_wake(loops_);
  const std::scoped_lock lock(mutex_);
  grant_free_tickets(now, to_wake);
  const bool full =
      is_full() && (line_.size() > 0 || !has_free(word_.load(std::memory_order_relaxed)));
  if (full) cells(worker, priority).refused.add(1);
  return full;
}

bool TicketPool::cancel(TicketWaiter& waiter, TimePoint now) {
  WakeList to_wake(loops_);
  const std::scoped_lock lock(mutex_);
  if (waiter.state_ != TicketWaiter::State::queued) return false;
  line_.leave(waiter);
  grant_free_tickets(now, to_wake);
  auto& cell = cells(waiter.worker, waiter.priority);
  cell.canceled.add(1);
  cell.removed_from_queue.add(1);
  cell.total_time_queued_us.add(elapsed_us(waiter.since_, now));
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
    cell.removed_from_queue.add(1);
    cell.total_time_queued_us.add(elapsed_us(waiter.since_, now));
  }
  if (granted) {
    cell.started_processing.add(1);
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

std::uint32_t TicketPool::take_peak() {
  const auto now = used(word_.load(std::memory_order_relaxed));
  return std::max(peak_.exchange(now, std::memory_order_relaxed), now);
}

std::uint64_t TicketPool::total_of(SingleWriter<std::uint64_t> TicketCells::*count) const {
  std::uint64_t sum = 0;
  for (const auto& worker : cells_)
    for (const auto priority : {Priority::normal, Priority::low})
      sum += (worker.by_priority[static_cast<std::size_t>(priority)].*count).get();
  return sum;
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

void TicketPool::settings(const PoolSettings& settings, TimePoint now) {
  WakeList to_wake(loops_);
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

void TicketPool::resize(std::uint32_t size, TimePoint now) {
  WakeList to_wake(loops_);
  const std::scoped_lock lock(mutex_);
  settings_.size = size;
  begin_resize(std::min(size, PoolSettings::kMost), now);
  depth_.store(settings_.depth(target_), std::memory_order_relaxed);
  grant_free_tickets(now, to_wake);
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
  WakeList to_wake(loops_);
  const std::scoped_lock lock(mutex_);
  if (!stalled_at_) return false;
  grant_free_tickets(now, to_wake);
  const bool stuck = stalled_at_ && now >= *stalled_at_;
  if (stuck) {
    set_total(total(word_.load(std::memory_order_relaxed)));
    grant_free_tickets(now, to_wake);
  }
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
