#include "balancer/dispatch/retry_plan.hpp"

namespace karmad {

unsigned retries_allowed(const RetrySettings& settings, std::size_t mirrors) {
  const auto all = static_cast<unsigned>(mirrors);
  if (settings.per_mirror_of_query) return *settings.per_mirror_of_query * all;
  if (settings.absolute_of_line) return *settings.absolute_of_line;
  if (settings.per_mirror) return *settings.per_mirror * all;
  return mirrors > 1 ? 1 : 0;
}

std::optional<Micros> next_attempt(const RetrySettings& settings, const RetryState& state) {
  if (!consequence(state.outcome).retry) return std::nullopt;
  if (!state.read && state.sent) return std::nullopt;
  if (state.retries_made >= retries_allowed(settings, state.mirrors)) return std::nullopt;
  const auto pause = state.tried < state.mirrors ? Micros{0} : settings.delay;
  if (pause >= state.left) return std::nullopt;
  return pause;
}

}  // namespace karmad
