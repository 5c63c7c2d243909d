#include "balancer/simulate/world/event_queue.hpp"

#include <algorithm>

namespace karmad::simulate {
namespace {

bool is_later(const Event& a, const Event& b) {
  return a.at != b.at ? a.at > b.at : a.number > b.number;
}

}  // namespace

void EventQueue::add_at(TimePoint at, Event event) {
  event.at = at;
  event.number = ++numbers_;
  heap_.push_back(event);
  std::push_heap(heap_.begin(), heap_.end(), is_later);
}

void EventQueue::add_after(TimePoint now, Micros delay, Event event) {
  auto lane = std::ranges::find(lanes_, delay, &Lane::delay);
  if (lane == lanes_.end()) {
    if (lanes_.size() == kMostLanes) return add_at(now + delay, event);
    lane = lanes_.insert(lane, {.delay = delay, .queue = {}});
  }
  event.at = now + delay;
  event.number = ++numbers_;
  lane->queue.push_back(event);
}

bool EventQueue::is_empty() const {
  return heap_.empty() &&
         std::ranges::all_of(lanes_, [](const Lane& lane) { return lane.queue.empty(); });
}

Event EventQueue::pop() {
  Lane* first = nullptr;
  for (auto& lane : lanes_)
    if (!lane.queue.empty() &&
        (first == nullptr || is_later(first->queue.front(), lane.queue.front())))
      first = &lane;
  if (first != nullptr && (heap_.empty() || is_later(heap_.front(), first->queue.front()))) {
    const auto event = first->queue.front();
    first->queue.pop_front();
    return event;
  }
  std::pop_heap(heap_.begin(), heap_.end(), is_later);
  const auto event = heap_.back();
  heap_.pop_back();
  return event;
}

}  // namespace karmad::simulate
