#include "balancer/topology/outlier_signs.hpp"

#include <boost/container/static_vector.hpp>

#include "strategies/expected_wait.hpp"

namespace karmad {
namespace {

std::uint64_t failures_in(const Totals& totals) {
  std::uint64_t failures = 0;
  for (std::size_t i = 0; i < kCounters; ++i) {
    const auto counter = static_cast<Counter>(i);
    if (counter != Counter::succeeded_queries && counter != Counter::warnings)
      failures += totals.counts[i];
  }
  return failures;
}

/// The usual duration of a search, or how long the oldest one is overdue.
Micros duration_of(const MirrorSignals& signals) {
  MirrorView view;
  view.latency = signals.latency();
  view.oldest = signals.oldest();
  return Micros{static_cast<Micros::rep>(duration_now(view))};
}

}  // namespace

void watch_outliers(const Shard& shard, TimePoint now, RandomSource& random) {
  auto& outliers = shard.protection->outliers;
  if (!outliers) return;
  auto& set = *shard.mirrors;
  boost::container::static_vector<OutlierSigns, Candidates::kMost> signs;
  const auto tolerated = shard.strategy_settings.tolerated_errors;
  const auto& unreachable = set.view(0)->unreachable;
  for (std::size_t i = 0; i < set.size(); ++i) {
    const auto& mirror = set[i];
    const auto& counters = mirror.agent->counters;
    const auto totals = mirror.tally.totals();
    const auto failures = failures_in(totals);
    const auto errors = counters.errors_in_a_row.load(std::memory_order_relaxed);
    signs.push_back(
        {.attempts =
             failures + totals.count(Counter::succeeded_queries) + totals.count(Counter::warnings),
         .failures = failures,
         .failures_in_a_row = mirror.signals.failures_in_a_row(),
         .duration = duration_of(mirror.signals),
         .usable = errors <= tolerated && !unreachable.contains(i),
         .pinged = shard.pings.kind != nullptr,
         .last_reply = TimePoint{Micros{counters.last_reply.load(std::memory_order_relaxed)}}});
  }
  for (const auto mirror : outliers->evaluate(now, signs, random)) set.start_slowly(mirror, now);
}

}  // namespace karmad
