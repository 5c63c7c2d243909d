#include "balancer/shard/attempt_effects.hpp"

#include "agent/health/state.hpp"

namespace karmad {

bool report_to_set(MirrorSet& set, std::size_t mirror, AttemptResult& result, const ErrorBody& body,
                   const ErrorHint& hint, TimePoint now) {
  using enum Outcome;
  using What = UseError::What;
  const auto outcome = result.outcome;
  std::optional<UseError> error;
  if (outcome == broken || outcome == closed_early)
    error = UseError{.what = What::network, .why = result.why};
  if (outcome == connect_failed && result.name_refused)
    error =
        UseError{.when = UseError::When::connecting, .what = What::name_refused, .why = result.why};
  if (outcome == agent_error || outcome == client_mistake) {
    error = state_error(body, hint.not_primary);
    result.nothing_done = error && error->nothing_done;
    if (error && outcome == client_mistake) {
      result.outcome = agent_error;
      result.why = error->why;
    }
  }
  if (!error) return false;
  error->generation = result.generation;
  set.on_error(mirror, *std::move(error), now);
  return true;
}

void record_slot_outcome(AgentSlot& slot, const AttemptResult& result) {
  using enum Outcome;
  const auto outcome = result.outcome;
  const bool refused =
      outcome == agent_error && (result.reply.status == 429 || result.reply.status == 503);
  if (is_answered(outcome) || (result.lost_race && result.sent)) return slot.answered(result.took);
  if (outcome == query_timeout || outcome == connect_timeout || outcome == unreachable ||
      result.out_of_time || refused)
    slot.dropped();
}

}  // namespace karmad
