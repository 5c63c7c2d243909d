#include "balancer/watch/failure_spell.hpp"

#include <algorithm>
#include <cmath>

namespace karmad {

std::uint64_t FailureSpell::answers_that_end_it() const {
  constexpr double kMost = 1000;
  // Up to the last failure, else the good answers would lengthen the wait for themselves.
  const auto ended = static_cast<double>(ended_ - std::min(ended_, answers_));
  const auto answered = (ended - static_cast<double>(failed_)) / ended;
  if (!(answered > 0)) return kInARow;
  const auto needed = std::min(std::log(kChance) / std::log(answered), kMost);
  return std::max<std::uint64_t>(kInARow, static_cast<std::uint64_t>(needed));
}

void FailureSpell::observe(const RecentWork& since_start, const RecentWork& recent,
                           const LastSearches& last) {
  const auto now = since_start - last_;
  const auto in_a_row = last.failed_in_a_row;
  last_ = since_start;
  in_a_row_ = last.reached ? 0 : in_a_row;
  samples_ = in_a_row_ > 0 ? samples_ + 1 : 0;
  // Sums of a sample with failures do not tell the order.
  answers_ = now.failures == 0 ? answers_ + now.queries : last.answered_in_a_row;
  if (last.reached) {
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
  const bool many =
      recent.failures > 1 && ended >= kFewAttempts &&
      static_cast<double>(recent.failures) >= kFailingShare * static_cast<double>(ended);
  goes_on_ = in_a_row >= kInARow || (many && now.failures > 0);
  failed_ = in_a_row >= kInARow ? in_a_row : recent.failures;
  ended_ = in_a_row >= kInARow ? in_a_row : ended;
}

}  // namespace karmad
