#pragma once

#include <functional>
#include <string_view>

#include "agent/transport/loop/thread_pool.hpp"
#include "balancer/core/query.hpp"
#include "balancer/core/refusal.hpp"

namespace karmad {

/// Whether work on that many bytes would block a worker for too long. `weight`: the cost per byte;
/// 1 is the cost of finding the end of a JSON value.
constexpr bool is_long(std::size_t bytes, unsigned weight, std::size_t longest_inline) {
  return bytes > longest_inline / weight;
}

/// The same for a query; false without helper threads.
inline bool is_long_work(const Query& query, std::size_t bytes, unsigned weight = 1) {
  return is_long(bytes, weight, query.topology->settings.long_work_size.value) &&
         query.worker.process.helpers != nullptr;
}

/// Long work on that many bytes, in the share of a client.
inline ThreadPool::Subject work_on(std::size_t bytes, std::string_view client) {
  return {.bytes = bytes, .client = std::hash<std::string_view>{}(client)};
}

/// Runs `work`, which reads so many bytes, on a helper thread while the query waits. At the
/// deadline, or when the client leaves, work ends that has not begun, and other work soon.
template <class Work>
Task<ThreadPool::End> run_on_helper(Query& query, std::size_t bytes, Work& work) {
  query.waited = true;
  QueryStop stop(query);
  stop.arm(query.resources.deadline, StopReason::deadline);
  const auto end = co_await query.worker.process.helpers->run(
      query.worker.loop, stop, work_on(bytes, query.client.address), work);
  co_return end;
}

/// 429 for a query that needs long work while the queue of the helper threads is full.
inline Refusal too_much_long_work() {
  return {.status = 429,
          .type = "overloaded",
          .reason = "too many long requests and answers wait for a helper thread (long_work_queue)",
          .overloaded = true,
          .retry_after = 1};
}

/// The answer to a query whose long work was not done: too_much_long_work(), or 504 after the
/// deadline. `count`: the counter of the failure.
inline Answer long_work_failure(Query& query, ThreadPool::End end, Count count) {
  query.worker.counters.add(count);
  if (end == ThreadPool::End::refused) return answer_with(too_much_long_work());
  return answer_with({.status = 504,
                      .type = "timeout",
                      .reason = "the query's deadline had passed before its long work was done"});
}

}  // namespace karmad
