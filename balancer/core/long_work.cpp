#include "balancer/core/long_work.hpp"

namespace karmad {

Refusal too_much_long_work() {
  return {.status = 429,
          .type = "overloaded",
          .reason = "too many long requests and answers wait for a helper thread (long_work_queue)",
          .overloaded = true,
          .retry_after = 1};
}

Answer long_work_failure(Query& query, ThreadPool::End end, Count count) {
  query.worker.counters.add(count);
  if (end == ThreadPool::End::refused) return answer_with(too_much_long_work());
  return answer_with({.status = 504,
                      .type = "timeout",
                      .reason = "the query's deadline had passed before its long work was done"});
}

}  // namespace karmad
