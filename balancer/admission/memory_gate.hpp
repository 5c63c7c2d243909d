#pragma once

#include "agent/transport/loop/memory_limit.hpp"
#include "balancer/core/query.hpp"

namespace karmad {

/// The answer to a request that was denied memory (`memory_limit`). 429 with both labels, code 462
/// and Retry-After if the request may be retried: it was refused before any work, or it only reads.
/// Otherwise 503 without labels, because an update may have taken effect.
Answer memory_refusal(const MemoryLimit& limit, MemoryDenial why, bool repeatable);

/// Counts a denial.
void count_denial(Counters& counters, MemoryDenial why);

}  // namespace karmad
