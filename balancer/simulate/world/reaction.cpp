#include "balancer/simulate/world/reaction.hpp"

#include <algorithm>
#include <cmath>

namespace karmad {
namespace {

constexpr double kAttemptsPerMirror = 64;
constexpr std::size_t kMostPeriods = 100'000;

/// The part of the attempts over an even part; nothing if they are too few to say.
template <class Change, class Period>
std::optional<double> share(const Change& change, const Period& period) {
  const auto all = static_cast<double>(change.end - change.begin);
  if (period.all < all * kAttemptsPerMirror / 4) return std::nullopt;
  const auto even = period.all * static_cast<double>(change.last - change.first) / all;
  return period.changed / even;
}

}  // namespace

ReactionTimes::ReactionTimes(const Scenario& scenario, const SetLayout& layout, TimePoint begin) {
  if (scenario.changes.empty()) return;
  const auto duration = Micros{std::llround(scenario.duration * 1e6)};
  const auto seconds = kAttemptsPerMirror * scenario.mirrors / scenario.rate;
  period_ = std::max(Micros{std::llround(seconds * 1e6)},
                     duration / static_cast<std::int64_t>(kMostPeriods) + Micros{1});
  const auto& first = scenario.changes.front();
  const auto& last = scenario.changes.back();
  changes_back_ = last.time > first.time;
  start(first_, first, layout, begin, begin + (changes_back_ ? last.time : duration));
  start(last_, last, layout, begin, begin + duration);
  const auto is_partial = [](const Change& change) {
    return change.last - change.first < change.end - change.begin;
  };
  measured_ = is_partial(first_) && is_partial(last_);
}

void ReactionTimes::start(Change& change, const MirrorChange& of, const SetLayout& layout,
                          TimePoint begin, TimePoint until) {
  change.first = of.mirrors.is_all() ? 0 : of.mirrors.first - 1;
  change.last = of.mirrors.is_all() ? layout.mirrors() : of.mirrors.last;
  change.begin = layout.first(layout.set_of(change.first));
  change.end = layout.first(layout.set_of(change.last - 1) + 1);
  change.from = begin + of.time;
  change.until = until;
  if (change.until > change.from)
    change.periods.resize(static_cast<std::size_t>((change.until - change.from) / period_) + 1);
}

void ReactionTimes::count(Change& change, unsigned mirror, TimePoint now) const {
  if (mirror < change.begin || mirror >= change.end || now >= change.until) return;
  auto& period = now < change.from
                     ? change.before
                     : change.periods[static_cast<std::size_t>((now - change.from) / period_)];
  ++period.all;
  if (mirror >= change.first && mirror < change.last) ++period.changed;
}

/// The end of the first period for which `reached(share)` is true.
template <class Reached>
Micros ReactionTimes::time_until(const Change& change, Reached reached) const {
  for (std::size_t i = 0; i < change.periods.size(); ++i)
    if (const auto part = share(change, change.periods[i]); part && reached(*part))
      return period_ * static_cast<std::int64_t>(i + 1);
  return Micros{-1};
}

Micros ReactionTimes::noticed() const {
  if (!measured_) return Micros{-1};
  const bool gains = share(first_, first_.before).value_or(1) < 0.5;
  return time_until(first_, [&](double part) { return gains ? part >= 1 : part < 0.5; });
}

Micros ReactionTimes::recovered() const {
  if (!changes_back_ || noticed() < Micros{0}) return Micros{-1};
  return time_until(last_, [](double part) { return part >= 0.75; });
}

}  // namespace karmad
