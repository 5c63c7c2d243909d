#include "agent/transport/loop/ticks.hpp"

namespace karmad {

TimePoint Ticks::now() {
  return TimePoint{
      std::chrono::duration_cast<Micros>(std::chrono::steady_clock::now().time_since_epoch())};
}

void Ticks::arm(Wheel& wheel, Deadline& deadline, TimePoint at) {
  wheel.deadlines.arm(deadline, at);
  if (!wheel.ticking) start(wheel, now());
}

void Ticks::start(Wheel& wheel, TimePoint now) {
  wheel.ticking = true;
  wheel.ticked = now;
  wheel.timer.expires_after(wheel.tick);
  wheel.timer.async_wait([this, &wheel](boost::system::error_code error) {
    wheel.ticking = false;
    if (error) return;
    const auto at = Ticks::now();
    if (&wheel == &coarse_) delay.note(at, at - wheel.ticked - wheel.tick);
    wheel.deadlines.tick(at);
    if (!wheel.deadlines.empty() && !wheel.ticking) start(wheel, at);
  });
}

}  // namespace karmad
