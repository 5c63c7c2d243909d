#pragma once

#include "agent/transport/loop/helper_pool.hpp"
#include "balancer/core/query.hpp"
#include "balancer/core/refusal.hpp"

namespace karmad {

/// Whether work on that many bytes would hold a worker for too long. `weight`: what the work does
/// for each byte, where finding the end of a JSON value counts 1.
constexpr bool is_long(std::size_t bytes, unsigned weight, std::size_t longest_inline) {
  return bytes > longest_inline / weight;
}

/// The same for a query: whether its work is for the helper threads, and there are any.
inline bool is_long_work(const Query& query, std::size_t bytes, unsigned weight = 1) {
  return is_long(bytes, weight, query.topology->settings.long_work_size.value) &&
         query.worker.process.helpers != nullptr;
}

/// Runs `work` on a helper thread while the query waits, until its deadline or until its client
/// leaves; work that has begun is waited for in any case.
template <class Work>
Task<HelperPool::End> run_aside(Query& query, Work& work) {
  query.waited = true;
  QueryStop when_over(query);
  Stop& stop = when_over;
  stop.arm(query.deadline, StopReason::deadline);
  const auto end = co_await query.worker.process.helpers->run(query.worker.loop, stop, work);
  co_return end;
}

/// Why a query is refused (429) whose work would be one piece too many.
Refusal too_much_long_work();
/// What a client is told whose query needed work that was not done: that, or 504 when its time was
/// over. `count`: what the query is counted as.
Answer without_long_work(Query& query, HelperPool::End end, Count count);

}  // namespace karmad
