#pragma once

#include "agent/transport/loop/memory_limit.hpp"
#include "balancer/core/query.hpp"

namespace karmad {

/// The answer to a request that was denied memory (`memory_limit`). 429 with both labels, code 462
/// and Retry-After where it may be sent again: it was refused before anything was done, or it only
/// reads. Else 503, without a word on repeating it: an update may have taken effect.
Answer memory_refusal(const MemoryLimit& limit, MemoryDenial why, bool repeatable);

/// Counts it.
void count_denial(Counters& counters, MemoryDenial why);

}  // namespace karmad
