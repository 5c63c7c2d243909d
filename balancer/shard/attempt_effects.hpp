#pragma once

#include <cstddef>

#include "agent/health/error_hint.hpp"
#include "agent/mirrors/attempt.hpp"
#include "agent/mirrors/mirror_set.hpp"
#include "balancer/shard/shard_event.hpp"

namespace karmad {

/// Tells the set's state machine what the attempt showed of the mirror, and takes an error answer
/// that says so for what it is: the mirror's state, not the client's mistake (SD-020 … SD-023).
/// True when the mirror is gone by that.
bool report_to_set(MirrorSet& set, std::size_t mirror, AttemptResult& result, const ErrorBody& body,
                   const ErrorHint& hint, TimePoint now);

/// Records the agent's load as shown by the attempt (`max_in_flight = auto`).
void record_slot_outcome(AgentSlot& slot, const AttemptResult& result);

/// Adds to the report for the shard request what the end of a recorded attempt shows. The text is
/// moved from the result.
void report_end(AttemptReport& report, AttemptResult& result, const Mirror& mirror);

}  // namespace karmad
