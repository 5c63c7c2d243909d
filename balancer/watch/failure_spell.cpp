#include "balancer/watch/failure_spell.hpp"

#include <algorithm>
#include <cmath>

namespace karmad {

std::uint64_t FailureSpell::answers_that_end_it() const {
  constexpr double kMost = 1000;
  const auto answered = static_cast<double>(ended_ - failed_) / static_cast<double>(ended_);
  const auto needed = answered >= 1 ? kMost : std::log(kChance) / std::log(answered);
  return std::max<std::uint64_t>(kInARow, static_cast<std::uint64_t>(std::min(needed, kMost)));
}

void FailureSpell::observe(const RecentWork& since_start, const RecentWork& recent,
                           std::uint32_t in_a_row, bool reached) {
  const auto now = since_start - last_;
  last_ = since_start;
  in_a_row_ = reached ? 0 : in_a_row;
  // Of a sample with failures the order is not known.
  answers_ = now.failures == 0 ? answers_ + now.queries : 0;
  if (reached) {
    goes_on_ = false;
    return;
  }
  if (goes_on_) {
    failed_ += now.failures;
    ended_ += now.failures + now.queries;
    goes_on_ = in_a_row > 0 || answers_ < answers_that_end_it();
    return;
  }
  const auto ended = recent.failures + recent.queries;
  const bool many = recent.failures > 1 && ended >= kFewAttempts && static_cast<double>(recent.failures) >=
                                                 kFailingShare * static_cast<double>(ended);
  goes_on_ = in_a_row >= kInARow || (many && now.failures > 0);
  failed_ = in_a_row >= kInARow ? in_a_row : recent.failures;
  ended_ = in_a_row >= kInARow ? in_a_row : ended;
}

}  // namespace karmad
