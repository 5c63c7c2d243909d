#pragma once

#include <atomic>
#include <cstdint>

#include "strategies/time.hpp"

namespace karmad {

/// What all workers share about an agent: relaxed atomics on a cache line of their own. No thread
/// waits on them and nothing is ordered by them; a reader may be one attempt behind.
struct alignas(64) AgentCounters {
  std::atomic<std::uint32_t> in_flight{0};       ///< attempts of queries (AgentSlots counts them)
  std::atomic<std::uint32_t> most_in_flight{0};  ///< 0: any number
  std::atomic<std::uint32_t> claimed{0};         ///< entries of queries that wait for a slot
  std::atomic<std::uint32_t> errors_in_a_row{0};
  std::atomic<bool> answered{false};         ///< has answered a ping or a query cleanly, ever
  std::atomic<std::int64_t> last_answer{0};  ///< the end of the last attempt or ping
  std::atomic<std::int64_t> last_took{0};    ///< µs that one took
  std::atomic<std::int64_t> last_reply{0};   ///< the last one that ended with a reply
  std::atomic<std::int64_t> ping_trip{0};    ///< µs of the last answered ping; 0: none
  /// When a connect or a ping last failed while no reply came from the agent.
  std::atomic<std::int64_t> last_unreachable{0};

  /// Whether the agent has replied to anything since then.
  bool replied_since(TimePoint then) const {
    return last_reply.load(std::memory_order_relaxed) >= then.time_since_epoch().count();
  }
  /// Whether a connect or a ping has shown since then that the agent cannot be reached, and nothing
  /// has come from it.
  bool unreachable_since(TimePoint then) const {
    const auto at = last_unreachable.load(std::memory_order_relaxed);
    return at >= then.time_since_epoch().count() && at > last_reply.load(std::memory_order_relaxed);
  }
};

}  // namespace karmad
