#include "balancer/admission/ticket_line.hpp"

#include <algorithm>

namespace karmad {

void WakeList::add(TicketWaiter& waiter) {
  // The last element points to itself, so that membership in the list is visible.
  waiter.next_to_wake_ = first_ != nullptr ? first_ : &waiter;
  first_ = &waiter;
}

void WakeList::wake(const Loops& loops) {
  while (auto* const waiter = first_) {
    first_ = waiter->next_to_wake_ == waiter ? nullptr : waiter->next_to_wake_;
    loops.post(waiter->worker, [waiter] { waiter->on_wake(); });
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
        shed_oldest(to_wake);
    }
  }
}

void TicketLine::shed_oldest(WakeList& to_wake) {
  auto& oldest = *waiting_.begin();
  remove(oldest, TicketWaiter::State::shed);
  to_wake.add(oldest);
}

void TicketLine::remove(TicketWaiter& waiter, TicketWaiter::State state) {
  waiting_.erase(waiting_.iterator_to(waiter));
  waiter.state_ = state;
  if (waiting_.empty()) discipline_.emptied();
}

}  // namespace karmad
