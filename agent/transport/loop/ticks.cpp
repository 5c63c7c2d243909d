#include "agent/transport/loop/ticks.hpp"

#include <algorithm>
#include <utility>

namespace karmad {

void Deadline::disarm() {
  if (owner_ == nullptr) return;
  --owner_->count_;
  owner_ = nullptr;
  Deadlines::unlink(*this);
}

Deadlines::Deadlines(Micros tick) : tick_(tick) {
  for (auto& slot : slots_) slot.previous_ = slot.next_ = &slot;
}

void Deadlines::link(Deadline& head, Deadline& deadline) {
  deadline.previous_ = head.previous_;
  deadline.next_ = &head;
  head.previous_->next_ = &deadline;
  head.previous_ = &deadline;
}

void Deadlines::unlink(Deadline& deadline) {
  deadline.previous_->next_ = deadline.next_;
  deadline.next_->previous_ = deadline.previous_;
  deadline.previous_ = deadline.next_ = nullptr;
}

TimePoint Deadlines::arm(Deadline& deadline, TimePoint at) {
  deadline.disarm();
  // Rounded up, so that nothing expires early; a time in the past expires at the next tick.
  const auto tick = std::max(tick_of(at), ticked_ + 1);
  deadline.at_ = at;
  deadline.owner_ = this;
  ++count_;
  link(slots_[static_cast<std::size_t>(tick) % kSlots], deadline);
  return end_of(tick);
}

std::optional<TimePoint> Deadlines::next_due() const {
  if (empty()) return std::nullopt;
  const auto last = ticked_ + static_cast<std::int64_t>(kSlots);
  for (auto tick = ticked_ + 1; tick < last; ++tick) {
    const auto& slot = slots_[static_cast<std::size_t>(tick) % kSlots];
    for (const auto* node = slot.next_; node != &slot; node = node->next_)
      if (tick_of(node->at_) <= tick) return end_of(tick);
  }
  return end_of(last);
}

void Deadlines::tick(TimePoint now) {
  const auto current = now.time_since_epoch() / tick_;
  const auto from = std::max(ticked_ + 1, current - static_cast<std::int64_t>(kSlots) + 1);
  ticked_ = std::max(ticked_, current);
  Anchor due;
  due.previous_ = due.next_ = &due;
  for (auto tick = from; tick <= current; ++tick) {
    auto& slot = slots_[static_cast<std::size_t>(tick) % kSlots];
    for (auto* node = slot.next_; node != &slot;) {
      auto* next = node->next_;
      if (node->at_ <= now) {
        unlink(*node);
        link(due, *node);
      }
      node = next;
    }
  }
  // An expiring deadline may disarm others that are due, which then leave this list.
  while (due.next_ != &due) {
    auto* node = due.next_;
    node->disarm();
    node->expired();
  }
}

namespace {

/// Deadlines of one loop within a tick that are no longer few: about 600 requests a second.
constexpr unsigned kMany = 32;

}  // namespace

TimePoint Ticks::now() {
  return TimePoint{
      std::chrono::duration_cast<Micros>(std::chrono::steady_clock::now().time_since_epoch())};
}

void Ticks::arm(Wheel& wheel, Deadline& deadline, TimePoint at) {
  const auto due = wheel.deadlines.arm(deadline, at);
  if (due < wheel.wakes) wake(wheel, due);
  if (++wheel.armed == kMany && &wheel == &coarse_ && !wheel.busy) wake_soon(wheel);
}

/// At the next tick, if it would wake later.
void Ticks::wake_soon(Wheel& wheel) {
  if (const auto soon = now() + wheel.tick; soon < wheel.wakes) wake(wheel, soon);
}

void Ticks::let_end() {
  ends_ = true;
  for (auto* const wheel : {&coarse_, &fine_})
    if (wheel->wakes != TimePoint::max()) wake_soon(*wheel);
}

void Ticks::wake(Wheel& wheel, TimePoint at) {
  wheel.wakes = at;
  wheel.timer.expires_at(std::chrono::steady_clock::time_point(at.time_since_epoch()));
  wheel.timer.async_wait([this, &wheel](boost::system::error_code error) {
    if (!error) woken(wheel);
  });
}

void Ticks::woken(Wheel& wheel) {
  const auto at = now();
  if (&wheel == &coarse_) {
    delay.note(at, std::max(Micros{0}, at - std::exchange(wheel.wakes, TimePoint::max())));
    wheel.busy = std::exchange(wheel.armed, 0) >= kMany;
  }
  wheel.wakes = TimePoint::max();
  wheel.woke = at;
  wheel.deadlines.tick(at);
  if (wheel.deadlines.empty()) return;
  const auto next = wheel.busy || ends_ ? at + wheel.tick : *wheel.deadlines.next_due();
  if (next < wheel.wakes) wake(wheel, next);
}

}  // namespace karmad
