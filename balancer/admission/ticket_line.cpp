#include "balancer/admission/ticket_line.hpp"

#include <algorithm>

namespace karmad {

void Woken::add(TicketWaiter& waiter) {
  // The last element points to itself, so that membership in the list is visible.
  waiter.next_woken_ = first_ != nullptr ? first_ : &waiter;
  first_ = &waiter;
}

void Woken::wake(const Loops& loops) {
  while (auto* const waiter = first_) {
    first_ = waiter->next_woken_ == waiter ? nullptr : waiter->next_woken_;
    loops.post(waiter->worker, [waiter] { waiter->woken(); });
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

void TicketLine::serve_next(TimePoint now, Woken& woken) {
  auto& served = next(now, woken);
  take_out(served, TicketWaiter::State::granted);
  woken.add(served);
}

TicketWaiter& TicketLine::next(TimePoint now, Woken& woken) {
  for (;;) {
    auto& first = *waiting_.begin();
    const auto oldest = std::max(Micros{0}, std::chrono::duration_cast<Micros>(now - first.since_));
    switch (discipline_.next(waiting_.size(), oldest, now)) {
      case QueueMove::serve_oldest:
        return first;
      case QueueMove::serve_newest:
        return *waiting_.rbegin();
      case QueueMove::shed_oldest:
        shed_oldest(woken);
    }
  }
}

void TicketLine::shed_oldest(Woken& woken) {
  auto& oldest = *waiting_.begin();
  take_out(oldest, TicketWaiter::State::shed);
  woken.add(oldest);
}

void TicketLine::take_out(TicketWaiter& waiter, TicketWaiter::State state) {
  waiting_.erase(waiting_.iterator_to(waiter));
  waiter.state_ = state;
  if (waiting_.empty()) discipline_.emptied();
}

}  // namespace karmad
