#include "balancer/simulate/world/recorder.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

namespace karmad::simulate {
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

Micros from_seconds(double seconds) {
  return Micros{std::llround(seconds * 1e6)};
}

/// `longest` is exact; a bucket's middle may be above it.
Latency latency_of(std::span<const std::uint64_t, kLatencyBuckets> counts, Micros longest) {
  const auto at = [&](double q) {
    return std::min(quantile(counts, q).value_or(Micros{}), longest);
  };
  return {.p50 = at(0.5), .p90 = at(0.9), .p99 = at(0.99), .p999 = at(0.999), .longest = longest};
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

Recorder::Recorder(const Scenario& scenario, const SetLayout& layout, TimePoint begin)
    : layout_(layout),
      begin_(begin),
      end_(begin + from_seconds(scenario.duration)),
      interval_(std::max<Micros>(Micros{1}, (end_ - begin_) / kIntervals)),
      slo_(from_seconds(scenario.slo / 1000)),
      seconds_(scenario.duration),
      next_interval_(begin + interval_),
      latencies_(kIntervals),
      mirrors_(scenario.mirrors),
      of_sets_(layout.sets()),
      reaction_(scenario, layout, begin) {
  result_.intervals.resize(kIntervals);
  for (unsigned i = 0; i < scenario.mirrors; ++i) mirrors_[i].set = layout.set_of(i);
}

void Recorder::attempt_sent(unsigned mirror, AttemptReason reason, TimePoint now) {
  auto& counts = mirrors_[mirror];
  ++counts.in_flight;
  reaction_.attempt_sent(mirror, now);
  if (!is_measured(now)) return;
  ++counts.attempts;
  ++counts.in_interval;
  ++of_sets_[counts.set];
  ++result_.attempts;
  if (reason == AttemptReason::hedge) ++result_.hedges;
  if (is_retry(reason)) ++result_.retries;
}

void Recorder::request_ended(TimePoint arrived, bool answered, TimePoint now) {
  if (!is_measured(arrived)) return;
  const auto i = std::min<std::size_t>(static_cast<std::size_t>((arrived - begin_) / interval_),
                                       kIntervals - 1);
  auto& interval = result_.intervals[i];
  ++interval.requests;
  if (!answered) return void(++interval.errors);
  const auto took = std::chrono::duration_cast<Micros>(now - arrived);
  ++latencies_[i][latency_bucket(took)];
  interval.latency.longest = std::max(interval.latency.longest, took);
  if (took <= slo_) ++good_;
}

void Recorder::told(MirrorNews news, TimePoint now) {
  if (result_.news.size() == kMostNews) return;
  news.at = std::chrono::duration_cast<Micros>(now - begin_);
  result_.news.push_back(std::move(news));
}

void Recorder::close_interval() {
  next_interval_ += interval_;
  if (open_ == kIntervals) return;
  auto& interval = result_.intervals[open_];
  if (++open_ == kIntervals) next_interval_ = TimePoint::max();
  interval.mirrors.reserve(std::min(mirrors_.size(), kReportedMirrors));
  for (std::size_t i = 0; i < mirrors_.size(); ++i) {
    auto& counts = mirrors_[i];
    const auto all = of_sets_[counts.set];
    if (i < kReportedMirrors)
      interval.mirrors.push_back(
          {.attempts = counts.in_interval,
           .in_flight = counts.in_flight,
           .share =
               all == 0 ? 0 : static_cast<double>(counts.in_interval) / static_cast<double>(all)});
    counts.in_interval = 0;
  }
  std::ranges::fill(of_sets_, 0);
}

double Recorder::skew() const {
  double most = 0;
  for (unsigned set = 0; set < layout_.sets(); ++set) {
    std::uint64_t all = 0;
    std::uint64_t busiest = 0;
    for (auto i = layout_.first(set); i < layout_.first(set + 1); ++i) {
      all += mirrors_[i].attempts;
      busiest = std::max(busiest, mirrors_[i].attempts);
    }
    if (all != 0)
      most = std::max(most,
                      static_cast<double>(busiest) * layout_.size(set) / static_cast<double>(all));
  }
  return most;
}

Result Recorder::result() {
  while (open_ < kIntervals) close_interval();
  result_.interval = interval_;
  Histogram all{};
  Micros longest{};
  for (std::size_t i = 0; i < kIntervals; ++i) {
    auto& interval = result_.intervals[i];
    Histogram counts{};
    std::ranges::copy(latencies_[i], counts.begin());
    std::ranges::transform(all, counts, all.begin(), std::plus());
    longest = std::max(longest, interval.latency.longest);
    result_.requests += interval.requests;
    result_.errors += interval.errors;
    interval.from = interval_ * static_cast<std::int64_t>(i);
    interval.latency = latency_of(counts, interval.latency.longest);
  }
  result_.answered = result_.requests - result_.errors;
  result_.latency = latency_of(all, longest);
  result_.goodput = static_cast<double>(good_) / seconds_;
  result_.skew = skew();
  const auto requests = static_cast<double>(result_.requests);
  const auto further = static_cast<double>(result_.hedges + result_.retries);
  result_.extra = requests == 0 ? 0 : further / requests;
  result_.noticed = reaction_.noticed();
  result_.recovered = reaction_.recovered();
  return std::move(result_);
}

}  // namespace karmad::simulate
