#include "balancer/watch/mirror_condition.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "config/text/source_text.hpp"

namespace karmad {
namespace {

double ms(Micros time) {
  return static_cast<double>(time.count()) / 1000;
}

/// A frozen mirror accepts attempts and ends none; their timeouts may be far away.
bool is_silent(const WorkSigns& work) {
  const auto& last = work.last_second;
  return last.attempts >= kFewAttempts && work.in_flight >= kFewAttempts && last.queries == 0 &&
         last.failures == 0 && work.peers_mean && *work.peers_mean < kSilence / 4;
}

bool has_share(const ShareSigns& signs) {
  constexpr std::uint64_t kFew = 20;
  return signs.attempts >= kFew && signs.mirrors > 1;
}

/// One search may just take long.
bool is_mute(const MirrorSigns& signs) {
  return signs.silent && signs.failures.in_a_row() > 1;
}

/// It gets less than half of an equal share of the attempts, if they are enough to say that.
bool is_avoided(const ShareSigns& signs) {
  return has_share(signs) && signs.part * static_cast<double>(signs.mirrors) < 0.5;
}

bool is_failing(const MirrorSigns& signs) {
  if (signs.failures.lasts() && !signs.silent && is_avoided(signs.share)) return true;
  return signs.unreachable || is_mute(signs) || signs.failures.goes_on() || is_silent(signs.work) ||
         signs.errors_in_a_row > 1;
}

/// With what its trouble does to the traffic of the mirror, if there is traffic.
std::string with_share(std::string_view reason, const ShareSigns& signs) {
  const auto equal = 1 / static_cast<double>(signs.mirrors);
  if (!has_share(signs)) return std::string(reason);
  if (!is_avoided(signs))
    return fmt::format("{}; gets {:.0f} % of the attempts, an equal share is {:.0f} %", reason,
                       signs.part * 100, equal * 100);
  return fmt::format("avoided by {} ({:.0f} % of the attempts, an equal share is {:.0f} %): {}",
                     signs.strategy, signs.part * 100, equal * 100, reason);
}

/// Whether the network explains at least half of the time that the peers do not need. Kept
/// connections say nothing; then a ping can at least acquit the network.
std::string cause_of_slowness(const WorkSigns& work) {
  const auto half = (work.slowness->mean - work.slowness->peers_mean) / 2;
  if (const auto connect = work.recent.mean_connect())
    return fmt::format("; connecting takes {:.1f} ms, so {} is slow", ms(*connect),
                       *connect < half ? "the server itself" : "the network or its accept queue");
  if (work.ping && *work.ping < half)
    return fmt::format("; a ping takes {:.1f} ms, so the server itself is slow", ms(*work.ping));
  return {};
}

std::string why_slow(const MirrorSigns& signs) {
  const auto& found = *signs.work.slowness;
  const bool past = found.age > kPast;
  auto reason = fmt::format(
      "its last {} searches {} {:.1f} ms on average, those of the other mirrors {:.1f} ms",
      found.answers, past ? "took" : "take", ms(found.mean), ms(found.peers_mean));
  if (found.p95 && found.peers_p95)
    reason +=
        fmt::format("; p95 {:.1f} ms, others {:.1f} ms", ms(*found.p95), ms(*found.peers_p95));
  if (past)
    reason += fmt::format("; the last one was {} s ago", found.age / std::chrono::seconds(1));
  return with_share(reason + (past ? std::string() : cause_of_slowness(signs.work)), signs.share);
}

std::string why_failing(const MirrorSigns& signs) {
  const auto error = signs.last_error.empty() ? "no reply" : signs.last_error;
  const auto& failures = signs.failures;
  const auto& recent = signs.work.recent;
  if (is_silent(signs.work) && signs.errors_in_a_row <= 1 && !signs.unreachable)
    return with_share(fmt::format("no reply for a second, {} in flight",
                                  counted_noun(signs.work.in_flight, "attempt")),
                      signs.share);
  const auto with_error = [&](std::string_view what) {
    return with_share(fmt::format("{}: {}", what, error), signs.share);
  };
  if (failures.in_a_row() > 1 || failures.lasts())
    return with_error(fmt::format("the last {0} of {0} searches failed", failures.in_a_row()));
  if (signs.errors_in_a_row > 1)
    return with_error(fmt::format("{} errors in a row", signs.errors_in_a_row));
  if (failures.goes_on() && recent.failures > 0)
    return with_error(fmt::format("{} of the last {} searches failed", recent.failures,
                                  recent.failures + recent.queries));
  if (failures.goes_on())
    return with_error(
        fmt::format("searches failed, only the last {} were answered", failures.answers()));
  return with_share(error, signs.share);
}

}  // namespace

std::uint64_t FailureSpell::answers_that_end_it() const {
  constexpr double kMost = 1000;
  // Up to the last failure, else the good answers would lengthen the wait for themselves.
  const auto ended = static_cast<double>(ended_ - std::min(ended_, answers_));
  const auto answered = (ended - static_cast<double>(failed_)) / ended;
  if (!(answered > 0)) return kInARow;
  const auto needed = std::min(std::log(kChance) / std::log(answered), kMost);
  return std::max<std::uint64_t>(kInARow, static_cast<std::uint64_t>(needed));
}

void FailureSpell::observe(const RecentWork& since_start, const RecentWork& recent,
                           const LastSearches& last) {
  const auto now = since_start - last_;
  const auto in_a_row = last.failed_in_a_row;
  last_ = since_start;
  in_a_row_ = last.reached ? 0 : in_a_row;
  samples_ = in_a_row_ > 0 ? samples_ + 1 : 0;
  // Sums of a sample with failures do not tell the order.
  answers_ = now.failures == 0 ? answers_ + now.queries : last.answered_in_a_row;
  if (last.reached) {
    goes_on_ = false;
    return;
  }
  if (goes_on_) {
    failed_ += now.failures;
    ended_ += now.failures + now.queries;
    goes_on_ = in_a_row > 0 || answers_ < answers_that_end_it();
    return;
  }
  const auto ended = recent.failures + recent.queries;
  const bool many =
      recent.failures > 1 && ended >= kFewAttempts &&
      static_cast<double>(recent.failures) >= kFailingShare * static_cast<double>(ended);
  goes_on_ = in_a_row >= kInARow || (many && now.failures > 0);
  failed_ = in_a_row >= kInARow ? in_a_row : recent.failures;
  ended_ = in_a_row >= kInARow ? in_a_row : ended;
}

Diagnosis diagnose(const MirrorSigns& signs) {
  using enum MirrorCondition;
  if (signs.service == ServiceState::maint)
    return {maint, "taken out by the operator: gets no requests and no pings"};
  if (signs.service == ServiceState::drain)
    return {drain, fmt::format("taken out by the operator: gets no new searches, {} in flight{}",
                               signs.work.in_flight,
                               signs.down ? "; " + why_failing(signs) : std::string())};
  if (signs.unresolved) return {unresolved, *signs.unresolved};
  if (signs.untrusted) return {untrusted, signs.last_error};
  if (signs.down) return {dead, why_failing(signs), signs.unreachable};
  if (signs.tripped) return {breaker_open, why_failing(signs)};
  if (signs.ejected && !signs.panic) return {ejected, *signs.ejected};
  if (signs.ejected)
    return {failing, *signs.ejected + "; asked nevertheless, as too few mirrors are left (panic)",
            false};
  if (!signs.answered && signs.errors_in_a_row <= 1 && !signs.unreachable)
    return {unknown, signs.last_error.empty() ? "has not answered yet" : signs.last_error};
  if (is_failing(signs)) return {failing, why_failing(signs), false};
  if (signs.lags) return {lagging, signs.unsuitable};
  if (!signs.unsuitable.empty()) return {unsuitable, signs.unsuitable};
  if (signs.work.slowness) return {slow, why_slow(signs), false};
  if (signs.full)
    return {full, fmt::format("has {} in flight, the most that are allowed",
                              counted_noun(signs.work.in_flight, "attempt"))};
  if (signs.started < 1)
    return {starting, fmt::format("slow start, has {:.0f} % of its weight", signs.started * 100)};
  return {ready, {}};
}

std::string text(const SetCount& count) {
  if (count.can_serve == 0) return "no mirror can be asked";
  return fmt::format("{} of {} ready", count.ready, counted_noun(count.all, "mirror"));
}

Micros ConditionTrack::settling_time(const Diagnosis& now) const {
  using enum MirrorCondition;
  const auto from = current_.condition;
  const auto to = now.condition;
  const auto is_out = [](MirrorCondition one) { return one == drain || one == maint; };
  if (is_out(from) || is_out(to)) return Micros{0};  // the operator said so
  if (to > from) return now.is_certain ? Micros{0} : kSettle;
  if (is_trouble(to)) return kStillSick;
  return relapsed_ && (from == failing || from == slow) ? kRelapse : kSettle;
}

bool ConditionTrack::observe(Diagnosis now, TimePoint at) {
  const auto from = current_.condition;
  const auto to = now.condition;
  if (since_ == TimePoint{}) since_ = at;
  const auto keep = [at](std::optional<TimePoint>& since, bool holds) {
    if (!holds) since.reset();
    if (holds && !since) since = at;
  };
  keep(worse_since_, to > from);
  keep(better_since_, to < from);
  keep(untroubled_since_, !is_trouble(to));
  if (to == from) {
    current_.reason = std::move(now.reason);
    return false;
  }
  auto since = to > from ? *worse_since_ : *better_since_;
  if (is_trouble(from) && !is_trouble(to)) since = *untroubled_since_;
  if (at - since < settling_time(now)) return false;
  if (is_trouble(to) && !is_trouble(from)) relapsed_ = well_at_ && at - *well_at_ < kRelapse;
  if (is_trouble(from) && !is_trouble(to)) well_at_ = at;
  before_ = std::exchange(current_, std::move(now)).condition;
  since_ = at;
  worse_since_.reset();
  better_since_.reset();
  return true;
}

}  // namespace karmad
