#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "strategies/candidates.hpp"
#include "strategies/mirror_view.hpp"
#include "strategies/random_source.hpp"

namespace karmad {

/// The probability of each mirror by its position; 0 for those that cannot be chosen.
using Shares = std::array<double, Candidates::kMost>;

/// The weight used in a draw: a negative one and NaN count as 0.
constexpr double usable(double weight) {
  return weight > 0 ? weight : 0;
}

/// Whether weights with this sum can be drawn from; if not, all mirrors have equal chances.
constexpr bool drawable(double total) {
  return total > 0 && total <= std::numeric_limits<double>::max();
}

/// Any of `from`, each with the same probability. `from` is not empty.
inline std::size_t uniform(Candidates from, RandomSource& random) {
  return from.nth(random.below(from.size()));
}

/// One of `from` (not empty), with a probability proportional to `weight_of(mirror)`. A mirror
/// without weight is never chosen; if no mirror has weight, or the sum is infinite, all have equal
/// chances. Allocates nothing.
template <class WeightOf>
std::size_t weighted(MirrorViews mirrors, Candidates from, RandomSource& random,
                     WeightOf weight_of) {
  double total = 0;
  for (auto mirror : from) total += usable(weight_of(mirrors[mirror]));
  if (!drawable(total)) return uniform(from, random);
  auto left = random.uniform() * total;
  std::size_t chosen = 0;
  for (auto mirror : from) {
    const auto weight = usable(weight_of(mirrors[mirror]));
    if (weight == 0) continue;
    chosen = mirror;  // the last one also if rounding leaves a rest
    if (left < weight) break;
    left -= weight;
  }
  return chosen;
}

/// The probabilities of `weighted`.
template <class WeightOf>
Shares weighted_shares(MirrorViews mirrors, Candidates from, WeightOf weight_of) {
  double total = 0;
  for (auto mirror : from) total += usable(weight_of(mirrors[mirror]));
  Shares shares{};
  const bool even = !drawable(total);
  for (auto mirror : from)
    shares[mirror] =
        even ? 1.0 / static_cast<double>(from.size()) : usable(weight_of(mirrors[mirror])) / total;
  return shares;
}

inline double karma_of(const MirrorView& mirror) {
  return mirror.karma;
}
inline double weight_of(const MirrorView& mirror) {
  return mirror.weight;
}

/// Drawn by karma, which includes the weight.
inline std::size_t weighted_by_karma(MirrorViews mirrors, Candidates from, RandomSource& random) {
  return weighted(mirrors, from, random, karma_of);
}

/// Whether all of `from` (not empty) have the same weight: the usual case.
inline bool evenly_weighted(MirrorViews mirrors, Candidates from) {
  const auto first = mirrors[from.nth(0)].weight;
  return from.where([&](auto m) { return mirrors[m].weight == first; }) == from;
}

/// `count` different mirrors of `from`, each drawn with the same probability; all if there are not
/// more.
inline Candidates draw(Candidates from, std::size_t count, RandomSource& random) {
  if (count >= from.size()) return from;
  Candidates drawn;
  for (; count > 0; --count)
    drawn.insert((from - drawn).nth(random.below(from.size() - drawn.size())));
  return drawn;
}

/// The mirror of `from` (not empty) with the lowest cost, which a function tells by its position; a
/// tie is decided at random.
template <class Cost>
std::size_t cheapest(Candidates from, RandomSource& random, const Cost& cost) {
  Candidates best;
  float least = 0;
  for (auto mirror : from) {
    const auto value = cost(mirror);
    if (best.empty() || value < least) {
      best = {};
      least = value;
    }
    if (value <= least) best.insert(mirror);
  }
  if (best.empty()) return from.nth(0);  // costs that are not numbers
  return best.size() == 1 ? best.nth(0) : uniform(best, random);
}

/// The probabilities of `cheapest` among `count` different mirrors drawn from `from`: a mirror that
/// c others beat, of n, wins if all that are drawn with it are among the n - 1 - c others. Mirrors
/// with equal cost share their chances equally.
template <class Cost>
Shares cheapest_shares(Candidates from, std::size_t count, const Cost& cost) {
  const auto n = from.size();
  count = std::min(count, n);
  // The probability that none of `better` mirrors is drawn, of n in all.
  const auto none_of = [&](std::size_t better) {
    double probability = 1;
    for (std::size_t i = 0; i < count; ++i) {
      if (better + i >= n) return 0.0;
      probability *= static_cast<double>(n - better - i) / static_cast<double>(n - i);
    }
    return probability;
  };
  Shares shares{};
  for (auto mirror : from) {
    std::size_t better = 0;
    std::size_t equal = 0;
    const auto own = cost(mirror);
    for (auto other : from) {
      const auto value = cost(other);
      better += static_cast<std::size_t>(value < own);
      equal += static_cast<std::size_t>(value == own);
    }
    shares[mirror] = (none_of(better) - none_of(better + equal)) / static_cast<double>(equal);
  }
  return shares;
}

/// Compares attempts in flight in proportion to the weights: -1 if `a` has fewer, 1 if more.
inline int compare_load(const MirrorView& a, const MirrorView& b) {
  const auto of_a = a.in_flight * b.weight;
  const auto of_b = b.in_flight * a.weight;
  return of_a < of_b ? -1 : static_cast<int>(of_a > of_b);
}

/// The chance of `a` if it has as many attempts in flight for its weight as `b`.
inline double chance_in_tie(const MirrorView& a, const MirrorView& b) {
  const auto total = a.weight + b.weight;
  return total > 0 ? a.weight / total : 0.5;
}

/// Draws two different mirrors of `from` (not empty) and takes the one with fewer attempts in
/// flight, divided by its weight; a tie is decided at random, by weight (SS-125, SS-126). Comparing
/// two avoids a scan, and that all queries go to the single least busy mirror.
inline std::size_t less_busy_of_two(MirrorViews mirrors, Candidates from, RandomSource& random) {
  if (from.size() == 1) return from.nth(0);
  const auto first = random.below(from.size());
  auto second = random.below(from.size() - 1);
  if (second >= first) ++second;  // skips `first`, with equal chances for all others
  const auto a = from.nth(first);
  const auto b = from.nth(second);
  const auto order = compare_load(mirrors[a], mirrors[b]);
  if (order != 0) return order < 0 ? a : b;
  if (mirrors[a].weight == mirrors[b].weight) return random.below(2) == 0 ? a : b;
  return random.uniform() < chance_in_tie(mirrors[a], mirrors[b]) ? a : b;
}

/// The probabilities of `uniform`.
inline Shares uniform_shares(Candidates from) {
  Shares shares{};
  for (auto mirror : from) shares[mirror] = 1.0 / static_cast<double>(from.size());
  return shares;
}

/// The probabilities of `weighted_by_karma`.
inline Shares karma_shares(MirrorViews mirrors, Candidates from) {
  return weighted_shares(mirrors, from, karma_of);
}

/// The probabilities of `less_busy_of_two`: of the n (n - 1) / 2 equally likely pairs, those the
/// mirror wins, and its part of the ties.
inline Shares two_choice_shares(MirrorViews mirrors, Candidates from) {
  if (from.size() < 2) return uniform_shares(from);
  const auto count = static_cast<double>(from.size());
  const auto pair = 2 / (count * (count - 1));
  Shares shares{};
  for (auto mirror : from)
    for (auto rival : from) {
      if (rival == mirror) continue;
      const auto order = compare_load(mirrors[mirror], mirrors[rival]);
      if (order < 0) shares[mirror] += pair;
      if (order == 0) shares[mirror] += pair * chance_in_tie(mirrors[mirror], mirrors[rival]);
    }
  return shares;
}

}  // namespace karmad
