#include "balancer/watch/mirror_condition.hpp"

#include <cmath>
#include <numeric>

#include "strategies/estimates/latency_estimate.hpp"

namespace karmad {
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
