#include "balancer/simulate/world/event_queue.hpp"

#include <algorithm>

namespace karmad::simulate {

void EventQueue::add_after(TimePoint now, Micros delay, EventKind kind, ObjectName subject,
                           std::uint32_t detail) {
  auto lane = std::ranges::find(lanes_, delay, &Lane::delay);
  if (lane == lanes_.end()) {
    if (lanes_.size() == kMostLanes) return add_at(now + delay, kind, subject, detail);
    lane = lanes_.insert(lane, {.delay = delay});
  }
  if (lane->queue.full()) lane->queue.set_capacity(2 * lane->queue.capacity());
  lane->queue.push_back({now + delay, ++numbers_, subject, detail, kind});
}

Event EventQueue::pop() {
  Lane* first = nullptr;
  for (auto& lane : lanes_)
    if (!lane.queue.empty() && (first == nullptr || lane.queue.front() < first->queue.front()))
      first = &lane;
  Event event;
  if (first != nullptr && (heap_.empty() || first->queue.front() < heap_.top())) {
    event = first->queue.front();
    first->queue.pop_front();
  } else {
    event = heap_.top();
    heap_.pop();
  }
  return event;
}

}  // namespace karmad::simulate
