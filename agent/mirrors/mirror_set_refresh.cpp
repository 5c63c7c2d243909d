// What a mirror set computes periodically from the numbers of its mirrors.
#include <algorithm>
#include <array>

#include "agent/mirrors/mirror_set.hpp"
#include "strategies/estimates/latency_estimate.hpp"

namespace karmad {
namespace {

using namespace std::chrono_literals;

/// Fewer latencies say little about a mirror.
constexpr std::uint64_t kFewLatencies = 20;
/// A mirror whose 95 % quantile is above this many times the median of the mirrors' is slow. Its
/// latencies do not count for the time after which searches are hedged, because they would delay
/// the very hedges that are needed.
constexpr int kSlow = 2;
/// Most time between two refreshes of a set that is not asked.
constexpr Micros kUnusedRefresh = 2s;

}  // namespace

SetLoad MirrorSet::load() const {
  const auto usual = usual_load_.load(std::memory_order_relaxed);
  return {typical_load_.load(std::memory_order_relaxed),
          usual < 0 ? std::nullopt : std::optional(usual)};
}

void MirrorSet::refresh_load(TimePoint now) {
  std::array<std::uint32_t, Candidates::kMost> in_flight{};
  const auto count_in_flight = [&](bool at_unknown) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < mirrors_.size(); ++i)
      if (at_unknown || state_.facts(i).role != Role::unknown)
        in_flight[count++] = mirrors_[i]->agent->counters.in_flight.load(std::memory_order_relaxed);
    return count;
  };
  auto count = count_in_flight(false);
  if (count == 0) count = count_in_flight(true);
  const auto median = lower_median(std::span(in_flight).first(count));
  usual_.add(now, median);
  typical_load_.store(median, std::memory_order_relaxed);
  usual_load_.store(usual_.average().value_or(-1), std::memory_order_relaxed);
}

/// When the oldest attempt of all workers at a mirror began; 0: there is none.
std::int64_t MirrorSet::oldest_attempt(std::size_t mirror) const {
  std::int64_t oldest = 0;
  for (const auto& slot : slots_) {
    const auto began = slot.attempts[mirror].oldest();
    if (began != 0 && (oldest == 0 || began < oldest)) oldest = began;
  }
  return oldest;
}

void MirrorSet::start_slowly(std::size_t mirror, TimePoint now) {
  mirrors_[mirror]->signals.start(now, options_.slow_start);
  if (options_.slow_start.duration > Micros{0})
    any_starting_.store(true, std::memory_order_relaxed);
}

void MirrorSet::refresh_signals(TimePoint now) {
  std::array<KnownDuration, Candidates::kMost> durations;
  std::size_t known = 0;
  for (const auto& mirror : mirrors_)
    if (const auto latency = mirror->signals.latency(); latency > 0)
      durations[known++] = {latency, mirror->signals.last_answer()};
  const auto typical = typical_duration({durations.data(), known});
  typical_duration_.store(typical, std::memory_order_relaxed);

  MirrorSignals::Refresh refresh{.now = now, .typical = typical, .failure_cost = failure_cost_};
  if (refreshed_at_) refresh.since_last = now - *refreshed_at_;
  Candidates absent;
  bool starting = false;
  for (std::size_t i = 0; i < mirrors_.size(); ++i) {
    auto& mirror = *mirrors_[i];
    const auto oldest = oldest_attempt(i);
    refresh.oldest = oldest == 0 ? 0 : static_cast<float>(now.time_since_epoch().count() - oldest);
    mirror.signals.refresh(refresh, options_.slow_start);
    const auto errors = mirror.agent->counters.errors_in_a_row.load(std::memory_order_relaxed);
    if (errors > options_.dead_after || state_[i].unreachable)
      absent.insert(i);
    else if (absent_.contains(i))
      start_slowly(i, now);
    starting = starting || mirror.signals.starting();
  }
  absent_ = absent;
  refreshed_at_ = now;
  any_starting_.store(starting, std::memory_order_relaxed);
}

void MirrorSet::refresh_latency(TimePoint now) {
  if (latency_at_ && now - *latency_at_ < 1s) return;
  latency_at_ = now;
  std::array<std::optional<Micros>, Candidates::kMost> p95;
  std::array<Micros, Candidates::kMost> known;
  std::size_t count = 0;
  for (std::size_t i = 0; i < mirrors_.size(); ++i) {
    const auto recent = mirrors_[i]->record->quantiles.over_recent(now);
    if (recent.samples < kFewLatencies) continue;
    p95[i] = recent.p95;
    known[count++] = *recent.p95;
  }
  const auto limit = kSlow * lower_median(std::span(known).first(count));
  LatencyCounts counts{};
  for (std::size_t i = 0; i < mirrors_.size(); ++i)
    if (!p95[i] || *p95[i] <= limit) mirrors_[i]->record->quantiles.add_recent(now, counts);
  latency_.set(recent_latency_of(counts));
  failure_cost_ = static_cast<float>(quantile(counts, 0.9).value_or(0us).count());
}

/// Attempts that were started since the start of the process.
std::uint64_t MirrorSet::attempts() const {
  std::uint64_t attempts = 0;
  for (const auto& mirror : mirrors_) attempts += mirror->tally.attempts();
  return attempts;
}

bool MirrorSet::refresh_is_due(TimePoint now) const {
  // Weights are computed from the block before the current one.
  return !refreshed_at_ || now - *refreshed_at_ >= std::min(kUnusedRefresh, options_.period) ||
         refreshed_in_flight_;
}

bool MirrorSet::is_asked() const {
  return attempts() != refreshed_attempts_;
}

void MirrorSet::refresh(TimePoint now) {
  refreshed_attempts_ = attempts();
  refreshed_in_flight_ = std::ranges::any_of(
      mirrors_, [](const auto& mirror) { return mirror->signals.in_flight() != 0; });
  if (!refreshed_at_) made_.store(now.time_since_epoch().count(), std::memory_order_relaxed);
  std::array<std::optional<Micros>, Candidates::kMost> running;
  for (std::size_t i = 0; i < mirrors_.size(); ++i) {
    auto& mirror = *mirrors_[i];
    const auto sums = error_sums(mirror.agent->history.over(1, now));
    const auto rates = error_rates(sums.successes, sums.warnings, sums.critical);
    mirror.critical_.store(rates.critical, std::memory_order_relaxed);
    mirror.errors_.store(rates.errors, std::memory_order_relaxed);
    running[i] = mirror.latency.running(now).mean();
  }
  const std::span means(running.data(), mirrors_.size());
  floor_.store(karmad::failure_floor(means).count(), std::memory_order_relaxed);
  refresh_load(now);
  refresh_latency(now);
  refresh_signals(now);
  refresh_karma(now);
}

void MirrorSet::refresh_karma(TimePoint now) {
  const auto block = now.time_since_epoch() / options_.period;
  const bool begun = block_ >= 0 && block != block_;
  block_ = block;
  if (!begun) return;
  std::array<std::optional<Micros>, Candidates::kMost> means;
  std::array<double, Candidates::kMost> weights{};
  std::uint64_t searches = 0;
  for (std::size_t i = 0; i < mirrors_.size(); ++i) {
    const auto& mirror = *mirrors_[i];
    weights[i] = mirror.karma_.load(std::memory_order_relaxed);
    const auto closed = mirror.latency.sum(block - 1, block - 1);
    means[i] = closed.mean();
    searches += closed.count;
  }
  next_weights({weights.data(), mirrors_.size()}, {means.data(), mirrors_.size()},
               with_samples(options_.karma, searches, mirrors_.size()));
  for (std::size_t i = 0; i < mirrors_.size(); ++i)
    mirrors_[i]->karma_.store(weights[i], std::memory_order_relaxed);
}

}  // namespace karmad
