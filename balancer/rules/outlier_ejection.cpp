#include "balancer/rules/outlier_ejection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "config/text/source_text.hpp"
#include "strategies/estimates/latency_estimate.hpp"

namespace karmad {
namespace {

using namespace std::chrono_literals;

/// The share of failures is judged after this many attempts …
constexpr std::uint64_t kEnoughAttempts = 20;
/// … and counted anew if they have not come in this time.
constexpr Micros kCountFor = 30s;
/// A mirror must be slow for this long, so that one slow search ejects no mirror.
constexpr Micros kSlowFor = 1s;
/// A smaller difference is not worth losing a mirror.
constexpr Micros kLeastLead = 5ms;
/// Random part of a time, so that mirrors ejected together do not return together.
constexpr double kJitter = 0.25;

double in_ms(Micros time) {
  return static_cast<double>(time.count()) / 1000;
}

/// The lower median of the durations of all usable mirrors but one; 0 if none is known.
Micros duration_of_others(std::span<const OutlierSigns> signs, std::size_t self) {
  std::array<Micros, Candidates::kMost> known;
  std::size_t count = 0;
  for (std::size_t i = 0; i < signs.size(); ++i)
    if (i != self && signs[i].usable && signs[i].duration > 0us) known[count++] = signs[i].duration;
  return lower_median(std::span(known).first(count));
}

}  // namespace

void OutlierEjection::take_over(const OutlierEjection& before, const FormerPlaces& places) {
  const std::scoped_lock lock(before.mutex_);
  Candidates ejected;
  for_each_former(places, [&](std::size_t now, std::size_t then) {
    mirrors_[now] = before.mirrors_[then];
    if (mirrors_[now].state.ejected) ejected.insert(now);
  });
  ejected_ = ejected.bits();
}

void OutlierEjection::restore(std::size_t mirror, State state, TimePoint now) {
  const std::scoped_lock lock(mutex_);
  auto ejected = this->ejected();
  if (state.ejected) ejected.insert(mirror);
  mirrors_[mirror] = {.state = std::move(state), .admitted = now, .counted_since = now};
  ejected_.store(ejected.bits(), std::memory_order_relaxed);
}

std::optional<std::string> OutlierEjection::failing(Watched& mirror, const OutlierSigns& signs,
                                                    TimePoint now) {
  if (signs.failures_in_a_row >= rules_.failures_in_a_row)
    return counted_noun(signs.failures_in_a_row, "failure") + " in a row";
  const auto attempts = signs.attempts - mirror.attempts;
  const auto failures = signs.failures - mirror.failures;
  if (attempts < kEnoughAttempts && now - mirror.counted_since < kCountFor) return std::nullopt;
  mirror.attempts = signs.attempts;
  mirror.failures = signs.failures;
  mirror.counted_since = now;
  if (attempts < kEnoughAttempts || failures * 100 < attempts * rules_.failure_percent)
    return std::nullopt;
  return fmt::format("{} of {} attempts failed", failures, attempts);
}

std::optional<std::string> OutlierEjection::slow(Watched& mirror, std::size_t number,
                                                 std::span<const OutlierSigns> signs,
                                                 TimePoint now) const {
  const auto own = signs[number].duration;
  const auto others = duration_of_others(signs, number);
  const bool is_slow = others > 0us && own - others > kLeastLead &&
                       in_ms(own) > rules_.latency_factor * in_ms(others);
  if (!is_slow) {
    mirror.slow_since.reset();
    return std::nullopt;
  }
  if (!mirror.slow_since) mirror.slow_since = now;
  if (now - *mirror.slow_since < kSlowFor) return std::nullopt;
  return fmt::format("searches take {:.1f} ms, at other mirrors {:.1f} ms", in_ms(own),
                     in_ms(others));
}

bool OutlierEjection::may_be_admitted(const Watched& mirror, const OutlierSigns& signs,
                                      TimePoint now) const {
  if (now < mirror.state.until) return false;
  return !signs.pinged || (signs.usable && signs.last_reply >= mirror.state.until);
}

void OutlierEjection::eject(Watched& mirror, std::string reason, TimePoint now,
                            RandomSource& random) {
  auto& state = mirror.state;
  ++state.times;
  const auto time = std::min(rules_.longest_time, rules_.time * state.times);
  const auto longer = 1 + kJitter * random.uniform();
  state.ejected = true;
  state.until = now + Micros{static_cast<Micros::rep>(static_cast<double>(time.count()) * longer)};
  state.reason = std::move(reason);
  ejections_.fetch_add(1, std::memory_order_relaxed);
}

void OutlierEjection::look_for_panic(Candidates ejected, std::span<const OutlierSigns> signs) {
  std::size_t left = 0;
  for (std::size_t i = 0; i < signs.size(); ++i)
    left += static_cast<std::size_t>(signs[i].usable && !ejected.contains(i));
  const bool panic = !ejected.empty() && left * 100 < signs.size() * rules_.panic_percent;
  if (panic && !this->panic()) panics_.fetch_add(1, std::memory_order_relaxed);
  panic_.store(panic, std::memory_order_relaxed);
}

Candidates OutlierEjection::evaluate(TimePoint now, std::span<const OutlierSigns> signs,
                                     RandomSource& random) {
  const std::scoped_lock lock(mutex_);
  Candidates ejected;
  Candidates admitted;
  const auto most = most_ejected(mirrors_.size(), rules_.most_percent);
  for (std::size_t i = 0; i < mirrors_.size(); ++i) {
    auto& mirror = mirrors_[i];
    auto& state = mirror.state;
    if (!state.ejected) continue;
    if (!may_be_admitted(mirror, signs[i], now)) {
      ejected.insert(i);
      continue;
    }
    const auto times = state.times;
    mirror = {.admitted = now,
              .attempts = signs[i].attempts,
              .failures = signs[i].failures,
              .counted_since = now};
    state.times = times;
    admitted.insert(i);
  }
  for (std::size_t i = 0; i < mirrors_.size(); ++i) {
    auto& mirror = mirrors_[i];
    auto& state = mirror.state;
    if (state.ejected || admitted.contains(i)) continue;
    if (mirror.counted_since == TimePoint{}) mirror.counted_since = now;
    // A mirror that works as long as it was last ejected for is trusted more again.
    if (state.times > 0 && now - mirror.admitted > rules_.time * state.times) {
      --state.times;
      mirror.admitted = now;
    }
    std::optional<std::string> reason;
    if (rules_.by_failures) reason = failing(mirror, signs[i], now);
    if (rules_.by_latency && !reason) reason = slow(mirror, i, signs, now);
    if (!reason || ejected.size() >= most) continue;
    eject(mirror, *std::move(reason), now, random);
    ejected.insert(i);
  }
  ejected_.store(ejected.bits(), std::memory_order_relaxed);
  look_for_panic(ejected, signs);
  return admitted;
}

}  // namespace karmad
