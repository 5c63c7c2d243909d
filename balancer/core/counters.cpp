#include "balancer/core/counters.hpp"

namespace karmad {
namespace {

constexpr auto kEndNames = enumerators<AttemptEnd>();

}  // namespace

AttemptEnd attempt_end(Outcome outcome) {
  if (is_answered(outcome)) return AttemptEnd::answered;
  if (outcome == Outcome::client_mistake) return AttemptEnd::client_mistake;
  return outcome == Outcome::cancelled ? AttemptEnd::cancelled : AttemptEnd::failed;
}

void AttemptResults::add_to(AttemptResultTotals& totals) const {
  for (std::size_t reason = 0; reason < counts_.size(); ++reason)
    for (std::size_t end = 0; end < kAttemptEnds; ++end)
      totals.counts[reason][end] += counts_[reason][end].get();
}

void write(StatsWriter& out, const AttemptResultTotals& totals) {
  static constexpr Stat kResults{.name = "attempt_results",
                                 .help = "ended attempts, by their reason and result",
                                 .row = kHidden,
                                 .member = kHidden};
  for (std::size_t reason = 0; reason < totals.counts.size(); ++reason)
    for (std::size_t end = 0; end < kAttemptEnds; ++end)
      out.add(kResults, totals.counts[reason][end],
              {{"reason", name(static_cast<AttemptReason>(reason))},
               {"result", kEndNames[static_cast<AttemptEnd>(end)]}});
}

}  // namespace karmad
