#include "balancer/shard/attempt_effects.hpp"

#include "agent/health/state_error.hpp"

namespace karmad {

bool report_to_set(MirrorSet& set, std::size_t mirror, AttemptResult& result, const ErrorBody& body,
                   const ErrorHint& hint, TimePoint now) {
  using What = UseError::What;
  std::optional<UseError> error;
  switch (result.outcome) {
    case Outcome::broken:
    case Outcome::closed_early:
      error = UseError{.what = What::network, .why = result.why};
      break;
    case Outcome::connect_failed:
      if (result.name_refused)
        error = UseError{
            .when = UseError::When::connecting, .what = What::name_refused, .why = result.why};
      break;
    case Outcome::agent_error:
    case Outcome::client_mistake:
      error = state_error(body, hint.not_primary);
      result.nothing_done = error && error->nothing_done;
      if (error && result.outcome == Outcome::client_mistake) {
        result.outcome = Outcome::agent_error;
        result.why = error->why;
      }
      break;
    default:
      break;
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
  if (outcome == answered || outcome == answered_with_warning || (result.lost_race && result.sent))
    return slot.answered(result.took);
  if (outcome == query_timeout || outcome == connect_timeout || outcome == unreachable ||
      result.out_of_time || refused)
    slot.dropped();
}

}  // namespace karmad
