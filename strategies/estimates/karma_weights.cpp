#include "strategies/estimates/karma_weights.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>

#include "strategies/candidates.hpp"
#include "strategies/choose.hpp"

namespace karmad {
namespace {

/// A weight below this part of an even share must be explained by the last period. A tenth is far
/// from the differences that compounding should keep (a fifth in HA-006's example).
constexpr double kStarved = 0.1;
/// How much slower than the others a mirror may be to start over. Twice: a mirror without traffic
/// has cold caches, and only traffic warms them.
constexpr double kComparable = 2;
/// The largest factor of one step. With four, a mirror leaves the floor within three periods, and a
/// queue that one bad period has left takes no share for long.
constexpr double kLargestStep = 4;

using Means = std::span<const std::optional<Micros>>;

/// Answers per microsecond.
double speed(Micros mean) {
  return 1.0 / static_cast<double>(std::max(mean, Micros{1}).count());
}

Candidates measured_ones(Means means) {
  Candidates measured;
  for (std::size_t i = 0; i < means.size(); ++i)
    if (means[i]) measured.insert(i);
  return measured;
}

double sum(std::span<const double> weights, Candidates of) {
  double total = 0;
  for (auto mirror : of) total += weights[mirror];
  return total;
}

void scale_to(double share, std::span<double> weights, Candidates of) {
  const auto factor = share / sum(weights, of);
  for (auto mirror : of) weights[mirror] *= factor;
}

void make_sum_one(std::span<double> weights) {
  const auto all = Candidates::first(weights.size());
  const auto even = 1.0 / static_cast<double>(weights.size());
  for (auto& weight : weights)
    if (!drawable(weight)) weight = even;
  scale_to(1, weights, all);
}

bool all_equal(std::span<const double> weights, Candidates of) {
  const auto first = weights[of.nth(0)];
  return of.where([&](auto m) { return std::abs(weights[m] - first) < 1e-9 * first; }) == of;
}

/// Step 2 without compounding. `whole`: the target itself.
void step_towards_speeds(std::span<double> weights, Means means, Candidates measured, bool whole) {
  const auto share = sum(weights, measured);
  double speeds = 0;
  for (auto mirror : measured) speeds += speed(*means[mirror]);
  for (auto mirror : measured) {
    auto& weight = weights[mirror];
    const auto target = share * speed(*means[mirror]) / speeds;
    weight = whole
                 ? target
                 : weight * std::clamp(std::sqrt(target / weight), 1 / kLargestStep, kLargestStep);
  }
}

/// Step 4: lets starved mirrors that are about as fast as the others start over.
void start_over(std::span<double> weights, Means means, Candidates measured) {
  const auto starved_below = kStarved / static_cast<double>(weights.size());
  Candidates starved;
  for (auto mirror : measured)
    if (weights[mirror] < starved_below) starved.insert(mirror);
  const auto others = measured - starved;
  if (starved.empty() || others.empty()) return;

  double answers = 0;
  for (auto mirror : others) answers += weights[mirror] * speed(*means[mirror]);
  const auto share = sum(weights, others);
  const auto usual_speed = answers / share;
  for (auto mirror : starved)
    if (speed(*means[mirror]) * kComparable >= usual_speed)
      weights[mirror] = share / static_cast<double>(others.size());
}

}  // namespace

void next_weights(std::span<double> weights, Means means, const KarmaRules& rules) {
  assert(weights.size() == means.size());
  const auto measured = measured_ones(means);
  if (measured.empty()) return;
  make_sum_one(weights);
  const auto share = sum(weights, measured);

  const bool at_start = all_equal(weights, measured);  // not because a mirror starts over
  start_over(weights, means, measured);
  if (rules.compound) {
    for (auto mirror : measured) weights[mirror] *= speed(*means[mirror]);
  } else {
    step_towards_speeds(weights, means, measured, at_start);
  }
  scale_to(share, weights, measured);

  const auto least = rules.floor / static_cast<double>(weights.size());
  for (auto mirror : measured) weights[mirror] = std::max(weights[mirror], least);
  scale_to(share, weights, measured);
}

KarmaRules with_samples(KarmaRules rules, std::uint64_t searches, std::size_t mirrors) {
  constexpr double kSamples = 4;
  constexpr double kMost = 0.1;
  if (searches == 0) return rules;
  const auto needed = kSamples * static_cast<double>(mirrors) / static_cast<double>(searches);
  rules.floor = std::max(rules.floor, std::min(needed, kMost));
  return rules;
}

Micros failure_floor(Means means) {
  assert(means.size() <= Candidates::kMost);
  std::array<Micros, Candidates::kMost> known;
  std::size_t count = 0;
  for (const auto& mean : means)
    if (mean) known[count++] = *mean;
  if (count == 0) return Micros{0};
  const auto middle = known.begin() + static_cast<std::ptrdiff_t>(count / 2);
  std::nth_element(known.begin(), middle, known.begin() + static_cast<std::ptrdiff_t>(count));
  return *middle;
}

}  // namespace karmad
