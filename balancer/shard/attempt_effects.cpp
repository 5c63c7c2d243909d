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

void report_end(AttemptReport& report, AttemptResult& result, const Mirror& mirror) {
  const auto began = result.ended - result.took;
  const auto connected = result.sent_at != TimePoint{} ? result.sent_at : result.ended;
  const bool timed_out = result.outcome == Outcome::query_timeout;
  report.outcome = result.outcome;
  report.status = static_cast<unsigned>(result.reply.status);
  report.connecting = std::chrono::duration_cast<Micros>(connected - began);
  report.sent = result.sent;
  report.out_of_time = result.out_of_time;
  if (is_answered(result.outcome)) return;
  report.nothing_done = result.nothing_done;
  report.silent = timed_out && result.reply.bytes.empty() &&
                  mirror.signals.answered_at() < result.sent_at.time_since_epoch().count();
  report.unreachable = timed_out && mirror.agent->counters.unreachable_since(began);
  report.why = std::move(result.why);
}

}  // namespace karmad
