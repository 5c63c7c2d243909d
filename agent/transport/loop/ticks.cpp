#include "agent/transport/loop/ticks.hpp"

#include <utility>

namespace karmad {
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
