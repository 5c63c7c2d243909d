#include "balancer/watch/mirror_condition.hpp"

#include <fmt/format.h>

#include <utility>

namespace karmad {
namespace {

double ms(Micros time) {
  return static_cast<double>(time.count()) / 1000;
}

/// A frozen mirror accepts attempts and ends none; their timeouts may be far away.
bool is_silent(const MirrorSigns& signs) {
  const auto& work = signs.last_second;
  return work.attempts >= kFewAttempts && signs.in_flight >= kFewAttempts && work.queries == 0 &&
         work.failures == 0 && signs.peers_mean && *signs.peers_mean < kSilence / 4;
}

bool is_failing(const MirrorSigns& signs) {
  const auto& latest = signs.latest;
  return signs.unreachable || signs.searches_fail || is_silent(signs) ||
         signs.errors_in_a_row > 1 ||
         (latest.attempts >= kFewAttempts &&
          static_cast<double>(latest.failures) >=
              kFailingShare * static_cast<double>(latest.attempts));
}

/// What its trouble does to the traffic of the mirror; empty without traffic.
std::string with_share(std::string reason, const MirrorSigns& signs) {
  constexpr std::uint64_t kFew = 20;
  if (signs.attempts_of_set < kFew || signs.mirrors < 2) return reason;
  return fmt::format("{}; gets {:.0f} % of the attempts, an equal share is {:.0f} %", reason,
                     signs.share * 100, 100.0 / static_cast<double>(signs.mirrors));
}

/// Whether the network explains at least half of the time that the peers do not need. Kept
/// connections say nothing; then a ping can at least acquit the network.
std::string cause_of_slowness(const MirrorSigns& signs) {
  const auto half = (*signs.recent.mean() - *signs.peers_mean) / 2;
  if (const auto connect = signs.recent.mean_connect())
    return fmt::format("; connecting takes {:.1f} ms, so {} is slow", ms(*connect),
                       *connect < half ? "the server itself" : "the network or its accept queue");
  if (signs.ping && *signs.ping < half)
    return fmt::format("; a ping takes {:.1f} ms, so the server itself is slow", ms(*signs.ping));
  return {};
}

std::string why_slow(const MirrorSigns& signs) {
  auto reason =
      fmt::format("queries take {:.1f} ms on average, those of the other mirrors {:.1f} ms",
                  ms(*signs.recent.mean()), ms(*signs.peers_mean));
  if (signs.p95 && signs.peers_p95)
    reason += fmt::format("; p95 of the last period {:.1f} ms, others {:.1f} ms", ms(*signs.p95),
                          ms(*signs.peers_p95));
  return with_share(reason + cause_of_slowness(signs), signs);
}

std::string why_failing(const MirrorSigns& signs) {
  auto reason = signs.last_error.empty() ? "no reply" : signs.last_error;
  if (is_silent(signs) && signs.errors_in_a_row <= 1 && !signs.unreachable)
    return with_share(
        fmt::format("no reply for a second, {} attempts are in flight", signs.in_flight), signs);
  if (signs.errors_in_a_row > 1)
    reason += fmt::format("; {} errors in a row", signs.errors_in_a_row);
  else if (signs.searches_fail)
    reason += "; no search was answered lately";
  else if (signs.latest.failures > 0)
    reason += fmt::format("; {} of the last {} attempts failed", signs.latest.failures,
                          signs.latest.attempts);
  return with_share(std::move(reason), signs);
}

}  // namespace

bool is_slow(const MirrorSigns& signs, MirrorCondition before) {
  const auto mean = signs.recent.mean();
  if (!mean || !signs.peers_mean) return false;
  const bool was = before == MirrorCondition::slow;
  if (!was && signs.recent.queries < kFewAttempts) return false;
  const auto factor = was ? kStillSlowFactor : kSlowFactor;
  return ms(*mean) > factor * ms(*signs.peers_mean) && *mean - *signs.peers_mean > kSlowLead;
}

Diagnosis diagnose(const MirrorSigns& signs, MirrorCondition before) {
  using enum MirrorCondition;
  if (signs.service == ServiceState::maint)
    return {maint, "taken out by the operator: gets no requests and no pings"};
  if (signs.service == ServiceState::drain)
    return {drain,
            fmt::format("taken out by the operator: gets no new searches, {} in flight{}",
                        signs.in_flight, signs.down ? "; " + why_failing(signs) : std::string())};
  if (signs.unresolved) return {unresolved, *signs.unresolved};
  if (signs.down) return {dead, why_failing(signs)};
  if (signs.tripped) return {breaker_open, why_failing(signs)};
  if (signs.ejected && !signs.panic) return {ejected, *signs.ejected};
  if (signs.ejected)
    return {failing, *signs.ejected + "; asked nevertheless, as too few mirrors are left (panic)"};
  if (!signs.answered && signs.errors_in_a_row <= 1 && !signs.unreachable)
    return {unknown, signs.last_error.empty() ? "has not answered yet" : signs.last_error};
  if (is_failing(signs)) return {failing, why_failing(signs)};
  if (signs.lags) return {lagging, signs.unsuitable};
  if (!signs.unsuitable.empty()) return {unsuitable, signs.unsuitable};
  if (is_slow(signs, before)) return {slow, why_slow(signs)};
  if (signs.full)
    return {full,
            fmt::format("has {} attempts in flight, the most that are allowed", signs.in_flight)};
  if (signs.started < 1)
    return {starting, fmt::format("slow start, has {:.0f} % of its weight", signs.started * 100)};
  return {ready, {}};
}

std::string text(const SetCount& count) {
  if (count.can_serve == 0) return "no mirror can be asked";
  return fmt::format("{} of {} mirrors are ready", count.ready, count.all);
}

bool ConditionTrack::observe(Diagnosis now, TimePoint at) {
  if (now.condition == current_.condition) {
    current_.reason = std::move(now.reason);
    better_since_.reset();
    if (since_ == TimePoint{}) since_ = at;
    return false;
  }
  if (now.condition < current_.condition) {
    if (!better_since_) better_since_ = at;
    if (at - *better_since_ < kSettle) return false;
  }
  better_since_.reset();
  before_ = std::exchange(current_, std::move(now)).condition;
  since_ = at;
  return true;
}

}  // namespace karmad
