#include "agent/mirrors/mirror_signals.hpp"

#include <algorithm>
#include <cmath>

#include "strategies/estimates/latency_estimate.hpp"
#include "strategies/expected_wait.hpp"

namespace karmad {
namespace {

/// An unanswered set has no quantile yet; a failure then costs at least this.
constexpr float kLeastCost = 1000;  // µs
/// The duration of a mirror without samples has come half way to the median after this time. It
/// decides how often a slow mirror is tried again: one that is ten times slower about every 3 s.
constexpr Micros kForget = std::chrono::milliseconds(1200);
/// Least part of a sample that confirms what a mirror seemed to have faded to. (Simulated: with the
/// usual 2 % a mirror has its share back a second later.)
constexpr float kConfirms = 0.2F;
/// An older report of load does not count: the mirror may have stopped to send them.
constexpr Micros kLoadExpires = std::chrono::seconds(10);

std::int64_t micros(TimePoint time) {
  return time.time_since_epoch().count();
}

}  // namespace

void MirrorSignals::add_sample(TimePoint now, float sample) noexcept {
  const auto before = get(latency_);
  const auto at = micros(now);
  const auto pause = Micros{at - get(sampled_)};
  const auto faded = get(faded_);
  EstimateRules rules;
  if (sample <= faded) rules.fall = kConfirms;
  set(latency_, before == 0 ? std::max(sample, 1.0F) : next_estimate(before, sample, pause, rules));
  if (faded > 0) {
    const auto tried = next_estimate(faded, sample, pause);
    // Known again when both are alike.
    set(faded_, get(latency_) > kAlike * tried ? tried : 0.0F);
  }
  set(sampled_, at);
}

void MirrorSignals::answered(TimePoint now, Micros took) noexcept {
  add_sample(now, static_cast<float>(took.count()));
  set(answered_at_, micros(now));
  // Checked first: most mirrors have no failures, and writing is more expensive.
  if (const auto penalty = get(penalty_); penalty > 0)
    set(penalty_, penalty < 1 ? 0 : penalty * PenaltyRules{}.success);
  if (get(failures_in_a_row_) != 0) set(failures_in_a_row_, 0U);
  if (starting()) answers_since_start_.fetch_add(1, std::memory_order_relaxed);
}

void MirrorSignals::cut_off(TimePoint now, Micros after) noexcept {
  const auto sample = static_cast<float>(after.count());
  if (sample > get(latency_)) return add_sample(now, sample);
  if (sample > get(faded_)) set(faded_, 0.0F);  // it is not as fast as it seemed to have become
}

void MirrorSignals::failed(Micros took, bool overload, bool in_a_row) noexcept {
  const auto cost = std::max({static_cast<float>(took.count()), get(failure_cost_), kLeastCost}) *
                    (overload ? PenaltyRules{}.overload : 1);
  set(penalty_, penalty_after_failure(get(penalty_), cost));
  if (in_a_row) failures_in_a_row_.fetch_add(1, std::memory_order_relaxed);
}

void MirrorSignals::reported_load(TimePoint now, double load) noexcept {
  if (!std::isfinite(load) || load < 0) return;
  set(load_, static_cast<float>(std::min(load, 1.0)));
  set(load_at_, micros(now));
}

bool MirrorSignals::at_starting_limit(std::uint32_t in_flight,
                                      const SlowStartRules& rules) const noexcept {
  const auto answers = get(answers_since_start_);
  return starting() && answers < rules.few_answers && in_flight >= starting_limit(answers);
}

void MirrorSignals::show(MirrorView& view, float typical) const noexcept {
  const auto latency = this->latency();
  view.latency = std::max(latency == 0 ? typical : latency, 1.0F);
  view.penalty = get(penalty_);
  view.load = get(load_);
}

void MirrorSignals::refresh(const Refresh& refresh, const SlowStartRules& rules) noexcept {
  const auto faded = get(faded_);
  const auto latency = faded > 0 ? faded : get(latency_);
  const auto at = micros(refresh.now);
  if (latency > 0 && refresh.typical > 0 && at - get(sampled_) > refresh.since_last.count())
    set(faded_, latency + (refresh.typical - latency) * part_after(refresh.since_last, kForget));
  if (const auto penalty = get(penalty_); penalty > 0)
    set(penalty_, penalty < 1 ? 0 : penalty_after(penalty, refresh.since_last));
  if (get(load_) > 0 && at - get(load_at_) > kLoadExpires.count()) set(load_, 0.0F);
  set(failure_cost_, refresh.failure_cost);
  set(oldest_, refresh.oldest);
  if (!starting()) return;
  const auto part = started_part(Micros{at - get(starting_since_)}, rules);
  set(started_, static_cast<float>(part));
  if (part >= 1) set(starting_since_, std::int64_t{0});
}

MirrorSignals::Memory MirrorSignals::memory(TimePoint now) const noexcept {
  Memory memory{.latency = latency(),
                .penalty = get(penalty_),
                .load = get(load_),
                .failures_in_a_row = get(failures_in_a_row_),
                .answers_since_start = get(answers_since_start_)};
  if (starting()) memory.starting_for = Micros{micros(now) - get(starting_since_)};
  return memory;
}

void MirrorSignals::restore(const Memory& memory, TimePoint now) noexcept {
  set(latency_, memory.latency);
  set(penalty_, memory.penalty);
  set(load_, memory.load);
  set(load_at_, micros(now));
  if (memory.latency > 0) set(sampled_, micros(now));
  set(failures_in_a_row_, memory.failures_in_a_row);
  set(answers_since_start_, memory.answers_since_start);
  if (memory.starting_for) set(starting_since_, micros(now) - memory.starting_for->count());
}

void MirrorSignals::start(TimePoint now, const SlowStartRules& rules) noexcept {
  if (rules.duration <= Micros{0}) return;
  set(answers_since_start_, 0U);
  set(started_, static_cast<float>(rules.least));
  set(starting_since_, micros(now));
}

}  // namespace karmad
