#include "agent/transport/loop/ticks.hpp"

namespace karmad {

TimePoint Ticks::now() {
  return TimePoint{
      std::chrono::duration_cast<Micros>(std::chrono::steady_clock::now().time_since_epoch())};
}

void Ticks::arm(Deadline& deadline, TimePoint at) {
  deadlines_.arm(deadline, at);
  if (!ticking_) start(now());
}

void Ticks::start(TimePoint now) {
  ticking_ = true;
  ticked_ = now;
  timer_.expires_after(Deadlines::kTick);
  timer_.async_wait([this](boost::system::error_code error) {
    ticking_ = false;
    if (error) return;
    const auto at = Ticks::now();
    delay.note(at, at - ticked_ - Deadlines::kTick);
    deadlines_.tick(at);
    if (!deadlines_.empty() && !ticking_) start(at);
  });
}

}  // namespace karmad
