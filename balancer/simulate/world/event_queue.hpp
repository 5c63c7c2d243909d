#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "strategies/time.hpp"

namespace karmad::simulate {

/// A queue in a ring that grows and never shrinks: in steady state it allocates nothing.
template <class T>
class RingQueue {
 public:
  bool empty() const { return count_ == 0; }
  std::size_t size() const { return count_; }
  const T& front() const { return ring_[begin_]; }
  void push_back(const T& item) {
    if (count_ == ring_.size()) grow();
    ring_[(begin_ + count_++) & (ring_.size() - 1)] = item;
  }
  void pop_front() {
    begin_ = (begin_ + 1) & (ring_.size() - 1);
    --count_;
  }
  void clear() { begin_ = count_ = 0; }

 private:
  void grow() {
    std::vector<T> larger(ring_.empty() ? 16 : ring_.size() * 2);  // a power of two
    for (std::size_t i = 0; i < count_; ++i) larger[i] = ring_[(begin_ + i) & (ring_.size() - 1)];
    ring_ = std::move(larger);
    begin_ = 0;
  }

  std::vector<T> ring_;
  std::size_t begin_ = 0;
  std::size_t count_ = 0;
};

/// What happens at a simulated time.
enum class EventKind : std::uint8_t {
  request_arrives,
  attempt_arrives,  ///< at a mirror
  work_done,        ///< a mirror has answered
  mirror_replies,   ///< a mirror answers without work
  reply_arrives,    ///< at the balancer
  attempt_times_out,
  connection_wait_ends,  ///< no connection became free
  attempt_interrupted,   ///< pings found its mirror unreachable
  client_gives_up,
  request_expires,  ///< its deadline in the balancer
  wait_ends,
  news,
  slot_granted,
  ticket_granted,
  ticket_wait_ends,
  ping_due,
  ping_arrives,
  ping_reply_arrives,
  ping_times_out,
  upkeep,
  scenario_changes,
};

/// One event. `subject` and `version` name an object of a pool; a version that is no longer the
/// object's means that the event is outdated.
struct Event {
  TimePoint at{};
  std::uint64_t number = 0;  ///< order of events at the same time
  std::uint32_t subject = 0;
  std::uint32_t version = 0;
  std::uint32_t detail = 0;
  EventKind kind{};
};

/// Events in order of time; at the same time in order of their creation. Delays that always have
/// the same length (network, timeouts) are queues in arrival order, because their ends are sorted
/// already; all other events are in a heap.
class EventQueue {
 public:
  void add_at(TimePoint at, Event event);
  /// `now` must not be earlier than in the calls before.
  void add_after(TimePoint now, Micros delay, Event event);
  bool is_empty() const;
  /// Removes the earliest event. The queue must not be empty.
  Event pop();

 private:
  static constexpr std::size_t kMostLanes = 12;

  struct Lane {
    Micros delay{};
    RingQueue<Event> queue;
  };

  std::vector<Event> heap_;
  std::vector<Lane> lanes_;
  std::uint64_t numbers_ = 0;
};

}  // namespace karmad::simulate
