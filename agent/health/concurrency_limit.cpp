#include "agent/health/concurrency_limit.hpp"

#include <algorithm>

namespace karmad {

namespace {

/// The fastest of this many windows is the baseline, as other disturbances only add latency. One
/// more window before them has the answers from before the limit was lowered.
constexpr unsigned kQuietWindows = 3;

/// Factor of the limit, without the slack, while the baseline is measured: below the agent's own
/// concurrency even if the last baseline was twice too high.
constexpr double kMeasuring = 1.0 / 3;

double micros(const LatencyWindow& window) {
  return std::max(1.0, static_cast<double>(window.mean.count()));
}

}  // namespace

double ConcurrencyLimit::within(double limit) const {
  const auto most = std::max(rules_.least, rules_.most);
  return std::clamp<double>(limit, rules_.least, most);
}

void ConcurrencyLimit::rules(const ConcurrencyRules& rules) {
  rules_ = rules;
  limit_ = within(limit_);
}

void ConcurrencyLimit::restore(const Learned& learned) {
  limit_ = within(learned.limit);
  long_ = static_cast<double>(learned.baseline.count());
}

unsigned ConcurrencyLimit::limit() const {
  if (long_ == 0) return rules_.least;
  if (!measuring_since_) return settled();
  return static_cast<unsigned>(within((limit_ - rules_.slack) * kMeasuring));
}

std::optional<Micros> ConcurrencyLimit::baseline() const {
  if (long_ == 0) return std::nullopt;
  return Micros{static_cast<std::int64_t>(long_)};
}

unsigned ConcurrencyLimit::on_window(const LatencyWindow& window, TimePoint now) {
  if (measuring()) {
    measure(window, now);
  } else {
    if (window.answers > 0) learn(window, now);
    adapt(window);
    const bool full = window.peak >= settled();
    if (full && now - learnt_.value_or(now) >= kRemeasure) begin_measuring(now);
  }
  return limit();
}

void ConcurrencyLimit::begin_measuring(TimePoint now) {
  measuring_since_ = now;
  quiet_windows_ = 0;
}

void ConcurrencyLimit::measure(const LatencyWindow& window, TimePoint now) {
  if (!measuring_since_) begin_measuring(now);
  const bool too_long = now - *measuring_since_ >= kLongestMeasure;
  if (window.answers == 0 || window.peak > limit()) {
    quiet_windows_ = 0;
  } else {
    ++quiet_windows_;
    fastest_ = quiet_windows_ <= 2 ? micros(window) : std::min(fastest_, micros(window));
  }
  const bool measured = quiet_windows_ > kQuietWindows;
  if (!measured && (!too_long || (long_ == 0 && window.answers == 0))) return;
  // If the limit is not enforced, there may be no quiet window: then any latency is used.
  if (measured) long_ = fastest_;
  if (long_ == 0) long_ = micros(window);
  measuring_since_.reset();
  learnt_ = now;
}

void ConcurrencyLimit::learn(const LatencyWindow& window, TimePoint now) {
  const auto latency = micros(window);
  const bool quiet = window.peak * 2 <= settled();
  if (quiet || latency < long_) long_ += (latency - long_) * kLongShare;
  if (long_ > 2 * latency) long_ *= kForget;
  if (quiet) learnt_ = now;
}

void ConcurrencyLimit::adapt(const LatencyWindow& window) {
  const auto ended = window.answers + window.dropped;
  if (ended == 0) return;
  // A limit that was not reached gives no evidence.
  if (window.dropped == 0 && window.peak * 2 < settled()) return;
  auto gradient = static_cast<double>(window.answers) / ended;
  if (window.answers > 0) gradient = std::min(gradient, kTolerance * long_ / micros(window));
  gradient = std::clamp(gradient, 0.5, 1.0);
  const auto wanted = limit_ * gradient + (window.dropped == 0 ? rules_.slack : 0);
  limit_ = within(limit_ + (wanted - limit_) * rules_.smoothing);
}

}  // namespace karmad
