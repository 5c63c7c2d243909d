#include "balancer/admission/memory_gate.hpp"

#include <fmt/format.h>

#include "balancer/core/refusal.hpp"

namespace karmad {

Answer memory_refusal(const MemoryLimit& limit, MemoryDenial why, bool repeatable) {
  const auto reason =
      why == MemoryDenial::refused
          ? fmt::format("{} bytes of memory are used by other requests (memory_limit = {})",
                        limit.used(), limit.limit())
          : fmt::format(
                "the request was cancelled: it held the most memory when the limit was reached "
                "(memory_limit = {})",
                limit.limit());
  if (why == MemoryDenial::given_up && !repeatable)
    return answer_with({.status = 503,
                        .type = "memory_limit",
                        .reason = reason + "; an update may have taken effect",
                        .retry_after = 1});
  return answer_with({.status = 429,
                      .type = "overloaded",
                      .reason = reason,
                      .code = 462,
                      .overloaded = true,
                      .retry_after = 1});
}

void count_denial(Counters& counters, MemoryDenial why) {
  counters.add(why == MemoryDenial::given_up ? Count::memory_given_up : Count::memory_refused);
}

}  // namespace karmad
