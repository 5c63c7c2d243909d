#include "balancer/simulate/replay/recorded_mirror.hpp"

#include <algorithm>
#include <cassert>
#include <numeric>
#include <optional>

namespace karmad::simulate {
namespace {

constexpr unsigned kAnsweredStatus = 200;

/// The log has no status of answers.
ReplayedService recorded_service(const RecordedAttempt& attempt) {
  return {.took = Micros(attempt.took_us),
          .outcome = attempt.outcome,
          .status = is_answered(attempt.outcome) ? kAnsweredStatus : attempt.status};
}

}  // namespace

RecordedMirror::RecordedMirror(std::vector<RecordedAttempt> attempts, std::vector<double> weights) {
  assert(weights.empty() || weights.size() == attempts.size());
  std::vector<std::uint32_t> order(attempts.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, {}, [&](std::uint32_t place) { return attempts[place].start; });
  attempts_.reserve(order.size());
  weight_through_.reserve(order.size());
  double sum = 0;
  for (const auto place : order) {
    attempts_.push_back(attempts[place]);
    weight_through_.push_back(sum += weights.empty() ? 1 : weights[place]);
  }
}

/// `next`: the first attempt that starts at `time` or later.
std::size_t RecordedMirror::nearest(std::size_t next, Micros time) const {
  if (next == 0) return 0;
  if (next == attempts_.size()) return next - 1;
  return time - attempts_[next - 1].start <= attempts_[next].start - time ? next - 1 : next;
}

/// One of the attempts from `first` to before `last`.
std::size_t RecordedMirror::drawn(std::size_t first, std::size_t last, double draw01) const {
  const auto before = weight_before(first);
  const auto target = before + draw01 * (weight_before(last) - before);
  const auto begin = weight_through_.begin();
  const auto found = std::upper_bound(begin + static_cast<std::ptrdiff_t>(first),
                                      begin + static_cast<std::ptrdiff_t>(last), target);
  // Rounding may yield the end.
  return std::min(static_cast<std::size_t>(found - begin), last - 1);
}

ReplayedService RecordedMirror::completed(std::size_t cancelled) const {
  const auto& attempt = attempts_[cancelled];
  std::optional<std::size_t> best;
  const auto distance = [&](std::size_t other) {
    return std::chrono::abs(attempts_[other].start - attempt.start);
  };
  const auto first = cancelled - std::min(cancelled, kReplayNeighbours);
  const auto last = std::min(attempts_.size(), cancelled + kReplayNeighbours + 1);
  for (auto other = first; other < last; ++other) {
    const auto& candidate = attempts_[other];
    if (candidate.outcome == Outcome::cancelled || candidate.took_us < attempt.took_us) continue;
    if (!best || distance(other) < distance(*best)) best = other;
  }
  if (best) return recorded_service(attempts_[*best]);
  return {Micros(attempt.took_us), Outcome::answered, kAnsweredStatus};
}

ReplayedService RecordedMirror::at(Micros time, double draw01) const {
  assert(!attempts_.empty());
  const auto place_of = [&](Micros start) {
    const auto found = std::ranges::lower_bound(attempts_, start, {}, &RecordedAttempt::start);
    return static_cast<std::size_t>(found - attempts_.begin());
  };
  const auto first = place_of(time - kReplayWindow);
  const auto last = place_of(time + kReplayWindow + Micros{1});
  const auto place = first == last ? nearest(first, time) : drawn(first, last, draw01);
  return attempts_[place].outcome == Outcome::cancelled ? completed(place)
                                                        : recorded_service(attempts_[place]);
}

}  // namespace karmad::simulate
