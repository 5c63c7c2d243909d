#include "balancer/rules/admission/queue_discipline.hpp"

namespace karmad {
namespace {

/// RFC 8289 section 3.3: the interval gets shorter with the number shed.
Micros pause(Micros interval, std::uint32_t shed) {
  const auto part = static_cast<double>(interval.count()) / std::sqrt(static_cast<double>(shed));
  return Micros{static_cast<std::int64_t>(part)};
}

constexpr int kSoonAgain = 16;  // intervals; section 5.4: shedding then resumes at its former rate

}  // namespace

void QueueDiscipline::settings(const DisciplineSettings& settings) {
  if (settings == settings_) return;
  *this = QueueDiscipline(settings);
}

void QueueDiscipline::emptied() {
  above_since_.reset();
  overloaded_ = false;
  shedding_ = false;
}

QueueMove QueueDiscipline::next(std::size_t waiting, Micros oldest, TimePoint now) {
  if (settings_.order == QueueOrder::fifo) return QueueMove::serve_oldest;
  if (oldest <= settings_.target) {
    // In overload the oldest is young because older ones were shed: no reason to stop.
    if (overloaded_) return QueueMove::serve_newest;
    emptied();
    return QueueMove::serve_oldest;
  }
  if (!above_since_) above_since_ = now;
  return settings_.order == QueueOrder::lifo ? adaptive(waiting, oldest, now)
                                             : controlled(waiting, oldest, now);
}

QueueMove QueueDiscipline::adaptive(std::size_t waiting, Micros oldest, TimePoint now) {
  overloaded_ = overloaded_ || now - *above_since_ >= settings_.interval;
  if (!overloaded_) return QueueMove::serve_oldest;
  if (waiting > 1 && oldest > settings_.interval) return QueueMove::shed_oldest;
  return QueueMove::serve_newest;
}

QueueMove QueueDiscipline::controlled(std::size_t waiting, Micros, TimePoint now) {
  if (waiting == 1) {
    shedding_ = false;
    return QueueMove::serve_oldest;
  }
  if (!shedding_) {
    if (now - *above_since_ < settings_.interval) return QueueMove::serve_oldest;
    shedding_ = true;
    const bool soon = shed_ > 2 && now - next_shed_ < kSoonAgain * settings_.interval;
    shed_ = soon ? shed_ - 2 : 1;
    next_shed_ = now + pause(settings_.interval, shed_);
    return QueueMove::shed_oldest;
  }
  if (now < next_shed_) return QueueMove::serve_oldest;
  ++shed_;
  next_shed_ += pause(settings_.interval, shed_);
  return QueueMove::shed_oldest;
}

}  // namespace karmad
