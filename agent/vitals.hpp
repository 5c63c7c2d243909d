#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "strategies/time.hpp"

namespace karmad {

/// What all workers share about an agent: relaxed atomics on a line of their own. Nobody waits on
/// them and nothing is ordered by them; a reader may be one attempt behind.
struct alignas(64) Vitals {
  std::atomic<std::uint32_t> in_flight{0};       ///< attempts of queries (Seats counts them)
  std::atomic<std::uint32_t> most_in_flight{0};  ///< 0: any number
  std::atomic<std::uint32_t> claimed{0};         ///< entries of queries that wait for a seat
  std::atomic<std::uint32_t> errors_in_a_row{0};
  std::atomic<std::uint32_t> connections{0};      ///< open ones, of all workers
  std::atomic<std::uint32_t> waiting{0};          ///< attempts that wait for a connection
  std::atomic<bool> answered{false};              ///< has answered a ping or a query cleanly, ever
  std::atomic<std::int64_t> last_query{0};        ///< when an attempt began last; µs, 0: never
  std::atomic<std::int64_t> last_answer{0};       ///< the end of the last attempt or ping
  std::atomic<std::int64_t> last_took{0};         ///< µs that one took
  std::atomic<std::int64_t> last_reply{0};        ///< the last one that ended with a reply
  std::atomic<std::int64_t> ping_trip{0};         ///< µs of the last answered ping; 0: none
  std::atomic<std::int64_t> distrusted_until{0};  ///< µs: until then no connection is used twice
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

/// Counts one of something for as long as it lives; moving it hands it over.
class Flight {
 public:
  explicit Flight(std::atomic<std::uint32_t>& count) : count_(&count) {
    count.fetch_add(1, std::memory_order_relaxed);
  }
  Flight(Flight&& other) noexcept : count_(std::exchange(other.count_, nullptr)) {}
  Flight& operator=(Flight&&) = delete;
  ~Flight() {
    if (count_ != nullptr) count_->fetch_sub(1, std::memory_order_relaxed);
  }

 private:
  std::atomic<std::uint32_t>* count_;
};

}  // namespace karmad
