#pragma once

#include <atomic>
#include <cstdint>

#include "strategies/time.hpp"

namespace karmad {

/// Counters of an agent that all workers share: relaxed atomics on their own cache line. No thread
/// waits for them, and they order no other memory; a reader may be one attempt behind.
struct alignas(64) AgentCounters {
  std::atomic<std::uint32_t> in_flight{0};       ///< attempts of queries (AgentSlots counts them)
  std::atomic<std::uint32_t> most_in_flight{0};  ///< 0: unlimited
  std::atomic<std::uint32_t> waiting{0};         ///< queue entries of queries that wait for a slot
  std::atomic<std::uint32_t> errors_in_a_row{0};
  std::atomic<bool> answered{false};         ///< has ever answered a ping or query without error
  std::atomic<std::int64_t> last_answer{0};  ///< when the last attempt or ping ended
  std::atomic<std::int64_t> last_took{0};    ///< its duration, µs
  std::atomic<std::int64_t> last_reply{0};   ///< when the last one with a reply ended
  std::atomic<std::int64_t> ping_trip{0};    ///< round trip of the last answered ping, µs; 0: none
  /// When a connect or a ping last failed without any reply from the agent in the meantime.
  std::atomic<std::int64_t> last_unreachable{0};

  /// Whether the agent has replied to any attempt or ping since `then`.
  bool replied_since(TimePoint then) const {
    return last_reply.load(std::memory_order_relaxed) >= then.time_since_epoch().count();
  }
  /// Whether a connect or a ping since `then` has shown that the agent is unreachable, and no reply
  /// came after it.
  bool unreachable_since(TimePoint then) const {
    const auto at = last_unreachable.load(std::memory_order_relaxed);
    return at >= then.time_since_epoch().count() && at > last_reply.load(std::memory_order_relaxed);
  }
};

}  // namespace karmad
