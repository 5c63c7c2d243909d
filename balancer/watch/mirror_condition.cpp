#include "balancer/watch/mirror_condition.hpp"

#include <fmt/format.h>

#include <cmath>
#include <numeric>
#include <utility>

#include "config/text/source_text.hpp"
#include "strategies/estimates/latency_estimate.hpp"

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
    return with_error(failures.in_a_row() == 1
                          ? "the last request failed"
                          : fmt::format("the last {} requests failed", failures.in_a_row()));
  if (signs.errors_in_a_row > 1)
    return with_error(fmt::format("{} errors in a row", signs.errors_in_a_row));
  if (failures.goes_on() && recent.failures > 0)
    return with_error(fmt::format("{} of the last {} requests failed", recent.failures,
                                  recent.failures + recent.queries));
  if (failures.goes_on())
    return with_error(
        fmt::format("requests failed, only the last {} were answered", failures.answers()));
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

namespace {

constexpr std::size_t kFewAnswers = 3;
constexpr std::size_t kEnoughAnswers = 5;  // to find that it is no longer slow
constexpr std::size_t kMostOfFew = 8;
constexpr std::size_t kForP95 = 20;
constexpr std::size_t kShortSum = 12;  // more terms would cancel each other out

/// The chance that the product of `n` numbers from 0 to 1 is at most exp(-sum), for `sum` > 0.
double chance_of_product(double sum, std::size_t n) {
  double chance = 0;
  double logarithm = -sum;  // of the term; the terms themselves may be too small for a double
  for (std::size_t k = 0; k < n; ++k) {
    chance += std::exp(logarithm);
    logarithm += std::log(sum / static_cast<double>(k + 1));
  }
  return std::min(chance, 1.0);
}

/// The chance that the sum of `n` numbers from 0 to 1 is at most `sum`.
double chance_of_sum(double sum, std::size_t n) {
  if (n > kShortSum) return 1;
  const auto count = static_cast<double>(n);
  double chance = 0;
  double choose = 1 / std::tgamma(count + 1);  // n over j, over n!
  for (double j = 0; j <= sum && j <= count; ++j) {
    chance += choose * std::pow(sum - j, count);
    choose *= -(count - j) / (j + 1);
  }
  return std::clamp(chance, 0.0, 1.0);
}

Micros mean_of(std::span<const Micros> times) {
  return std::reduce(times.begin(), times.end()) / static_cast<std::int64_t>(times.size());
}

std::vector<Micros> within(std::span<const RecentAnswer> answers, Micros oldest) {
  std::vector<Micros> times;
  for (const auto& answer : answers)
    if (answer.age <= oldest) times.push_back(answer.took);
  return times;
}

std::optional<Micros> p95_of(std::vector<Micros> times) {
  if (times.size() < kForP95) return std::nullopt;
  const auto at = times.begin() + static_cast<std::ptrdiff_t>((times.size() - 1) * 95 / 100);
  std::ranges::nth_element(times, at);
  return *at;
}

Micros median_of(std::vector<Micros> times) {
  return lower_median<Micros>(times);
}

bool exceeds(Micros time, Micros other, double factor) {
  return static_cast<double>(time.count()) > factor * static_cast<double>(other.count()) &&
         time - other > kSlowLead;
}

/// The peers that are not slow themselves.
struct Usual {
  std::vector<Micros> lately;  ///< their answers in the same time as those of the mirror
  std::vector<Micros> all;     ///< the older ones too
};

Usual usual_of(std::span<const std::span<const RecentAnswer>> peers, Micros oldest) {
  std::vector<std::vector<Micros>> lately;
  std::vector<Micros> means;
  for (const auto& peer : peers) {
    lately.push_back(within(peer, oldest));
    if (!lately.back().empty()) means.push_back(mean_of(lately.back()));
  }
  Usual usual;
  if (means.empty()) return usual;
  const auto median = lower_median<Micros>(means);
  for (std::size_t i = 0; i < peers.size(); ++i) {
    if (lately[i].empty() || exceeds(mean_of(lately[i]), median, kSlowFactor)) continue;
    usual.lately.insert(usual.lately.end(), lately[i].begin(), lately[i].end());
    const auto all = within(peers[i], kUsualTime);
    usual.all.insert(usual.all.end(), all.begin(), all.end());
  }
  return usual;
}

bool exceeds(const std::vector<Micros>& own, const std::vector<Micros>& usual, double factor) {
  return exceeds(mean_of(own), mean_of(usual), factor) ||
         exceeds(median_of(own), median_of(usual), factor);
}

/// Compares the first `count` answers; `was`: the mirror was slow.
std::optional<Slowness> compare(std::span<const RecentAnswer> own, std::size_t count,
                                std::span<const std::span<const RecentAnswer>> peers, bool was) {
  const auto compared = own.first(count);
  const auto oldest = compared.back().age;
  if (!was && oldest - compared.front().age < kLeastTime) return std::nullopt;
  const auto times = within(compared, oldest);
  auto usual = usual_of(peers, oldest);
  if (usual.lately.empty() && was) usual = usual_of(peers, kUsualTime);
  if (usual.lately.empty()) return std::nullopt;
  if (!exceeds(times, usual.lately, was ? kStillSlowFactor : kSlowFactor) ||
      chance_of_equal(times, usual.all) > (was ? kStillSlowChance : kFalseAlarm))
    return std::nullopt;
  Slowness found{.answers = count,
                 .mean = mean_of(times),
                 .peers_mean = mean_of(usual.lately),
                 .age = compared.front().age};
  found.p95 = p95_of(times);
  found.peers_p95 = p95_of(std::move(usual.lately));
  return found;
}

}  // namespace

double chance_of_equal(std::span<const Micros> own, std::vector<Micros>& usual) {
  if (own.empty() || usual.empty()) return 1;
  std::ranges::sort(usual);
  const auto all = static_cast<double>(usual.size());
  double logarithms = 0;
  double sum = 0;
  for (const auto took : own) {
    const auto [low, high] = std::ranges::equal_range(usual, took);
    const auto longer =
        static_cast<double>(usual.end() - high) + static_cast<double>(high - low) / 2;
    const auto part = (longer + 1) / (all + 1);
    logarithms -= std::log(part);
    sum += part;
  }
  const auto chance =
      2 * std::min(chance_of_product(logarithms, own.size()), chance_of_sum(sum, own.size()));
  return std::min(std::pow(chance, 1 / (1 + static_cast<double>(own.size()) / all)), 1.0);
}

std::optional<TypicalTime> typical_time(std::span<const RecentAnswer> answers) {
  if (answers.empty()) return std::nullopt;
  const auto least = std::min(answers.size(), kMostOfFew);
  const auto times = within(answers, std::max(kComparedTime, answers[least - 1].age));
  return TypicalTime{mean_of(times), median_of(times)};
}

std::optional<Micros> usual_time(std::span<const TypicalTime> mirrors) {
  std::vector<Micros> means;
  for (const auto& mirror : mirrors) means.push_back(mirror.mean);
  if (means.empty()) return std::nullopt;
  return lower_median<Micros>(means);
}

bool may_be_slow(const TypicalTime& own, std::span<const TypicalTime> peers) {
  std::vector<Micros> medians;
  for (const auto& peer : peers) medians.push_back(peer.median);
  if (medians.empty()) return false;
  return own.mean > *usual_time(peers) + kSlowLead / 2 ||
         own.median > lower_median<Micros>(medians) + kSlowLead / 2;
}

std::optional<Slowness> slowness(std::span<const RecentAnswer> own,
                                 std::span<const std::span<const RecentAnswer>> peers, bool was) {
  if (own.size() < kFewAnswers || own.front().age > kPastSlowness) return std::nullopt;
  const auto since = [&](Micros oldest) {
    return static_cast<std::size_t>(std::ranges::upper_bound(own, oldest, {}, &RecentAnswer::age) -
                                    own.begin());
  };
  const auto lately = since(kComparedTime);
  if (was) return compare(own, std::max(lately, std::min(kEnoughAnswers, own.size())), peers, was);
  // An older part of more answers may show a slowness that has ended.
  if (lately >= kFewAnswers) {
    const auto usual = usual_of(peers, kComparedTime);
    if (usual.lately.empty() ||
        !exceeds(within(own, kComparedTime), usual.lately, kStillSlowFactor))
      return std::nullopt;
  }
  for (const auto count : {lately, since(kLongTime), kFewAnswers, kEnoughAnswers, kMostOfFew})
    if (count >= kFewAnswers && count >= lately && count <= own.size())
      if (auto found = compare(own, count, peers, was)) return found;
  return std::nullopt;
}

}  // namespace karmad
