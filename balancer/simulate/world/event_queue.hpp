#pragma once

#include <boost/circular_buffer.hpp>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "strategies/time.hpp"

namespace karmad::simulate {

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

/// Names an object of a pool. After its end it has another version.
struct ObjectName {
  std::uint32_t index = 0;
  std::uint32_t version = 0;
  auto operator<=>(const ObjectName&) const = default;
};

/// One event, in order of time. It is outdated if its subject has ended.
struct Event {
  TimePoint at{};
  std::uint64_t number = 0;  ///< order of events at the same time
  ObjectName subject;
  std::uint32_t detail = 0;
  EventKind kind{};
  auto operator<=>(const Event&) const = default;
};

/// Events in order of time; at the same time in order of their creation. Delays that always have
/// the same length (network, timeouts) are queues in arrival order, because their ends are sorted
/// already; all other events are in a heap.
class EventQueue {
 public:
  void add_at(TimePoint at, EventKind kind, ObjectName subject = {}, std::uint32_t detail = 0) {
    heap_.push({at, ++numbers_, subject, detail, kind});
  }
  /// `now` must not be earlier than in the calls before.
  void add_after(TimePoint now, Micros delay, EventKind kind, ObjectName subject = {},
                 std::uint32_t detail = 0);
  /// Removes the earliest event. The queue must not be empty.
  Event pop();

 private:
  static constexpr std::size_t kMostLanes = 12;

  struct Lane {
    Micros delay{};
    boost::circular_buffer<Event> queue{16};  ///< it grows, and then allocates nothing
  };

  std::priority_queue<Event, std::vector<Event>, std::greater<>> heap_;
  std::vector<Lane> lanes_;
  std::uint64_t numbers_ = 0;
};

}  // namespace karmad::simulate
