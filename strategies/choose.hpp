#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <span>

#include "strategies/candidates.hpp"
#include "strategies/mirror_view.hpp"
#include "strategies/random_source.hpp"

namespace karmad {

/// The probability of each mirror by its position; 0 for those that cannot be chosen.
using Shares = std::array<double, Candidates::kMost>;

/// What a weight counts for in a draw: a negative one or NaN for nothing.
constexpr double usable(double weight) {
  return weight > 0 ? weight : 0;
}

/// Whether weights of this sum can be drawn by; if not, everybody has the same chance.
constexpr bool drawable(double total) {
  return total > 0 && total <= std::numeric_limits<double>::max();
}

/// Any of `from`, each with the same probability. `from` is not empty.
inline std::size_t uniform(Candidates from, RandomSource& random) {
  return from.nth(random.below(from.size()));
}

/// The first of the running `sums` that is above `drawn`; when rounding drew the very end, the last
/// that is above its predecessor. Counts instead of searching: a search would guess its branches
/// wrong as often as the draw is random.
inline std::size_t position_in(std::span<const double> sums, double drawn) {
  std::size_t position = 0;
  for (auto sum : sums) position += static_cast<std::size_t>((sum <= drawn) & (sum < sums.back()));
  return position;
}

/// One of `from` (not empty), with a probability in proportion to its karma. Who has no weight is
/// never chosen, but when nobody has one, or the sum is infinite, everybody has the same chance.
/// Allocates nothing.
inline std::size_t weighted_by_karma(MirrorViews mirrors, Candidates from, RandomSource& random) {
  // Sums of eight mirrors each, in pairs, so that their additions overlap; one sum of 64 would wait
  // for every addition. Only the block that is drawn is looked at one by one.
  constexpr std::size_t kBlock = 8;
  const auto weight = [&](std::size_t mirror) {
    return from.contains(mirror) ? usable(mirrors[mirror].karma) : 0.0;
  };
  const auto pair = [&](std::size_t mirror) { return weight(mirror) + weight(mirror + 1); };
  std::array<double, Candidates::kMost / kBlock> ends;
  std::size_t blocks = 0;
  double total = 0;
  for (std::size_t start = 0; start < mirrors.size(); start += kBlock) {
    double sum = 0;
    if (start + kBlock <= mirrors.size()) {
      sum = (pair(start) + pair(start + 2)) + (pair(start + 4) + pair(start + 6));
    } else {
      for (auto mirror = start; mirror < mirrors.size(); ++mirror) sum += weight(mirror);
    }
    total += sum;
    ends[blocks++] = total;
  }
  if (!drawable(total)) return uniform(from, random);

  auto drawn = random.uniform() * total;
  const auto block = position_in({ends.data(), blocks}, drawn);
  if (block > 0) drawn -= ends[block - 1];
  const auto start = block * kBlock;
  const auto length = std::min(kBlock, mirrors.size() - start);
  std::array<double, kBlock> sums;
  double sum = 0;
  for (std::size_t i = 0; i < length; ++i) sums[i] = sum += weight(start + i);
  return start + position_in({sums.data(), length}, drawn);
}

/// Of two different ones of `from` (not empty), drawn at random, the one with fewer attempts in
/// flight; a tie is decided by chance, so that nothing hangs on the order of the draws (SS-125,
/// SS-126). Looking at two avoids the scan, and the stampede onto the single least busy mirror.
inline std::size_t less_busy_of_two(MirrorViews mirrors, Candidates from, RandomSource& random) {
  if (from.size() == 1) return from.nth(0);
  const auto first = random.below(from.size());
  auto second = random.below(from.size() - 1);
  if (second >= first) ++second;  // leaves `first` out without favouring its neighbour
  const auto a = from.nth(first);
  const auto b = from.nth(second);
  if (mirrors[a].in_flight == mirrors[b].in_flight) return random.below(2) == 0 ? a : b;
  return mirrors[a].in_flight < mirrors[b].in_flight ? a : b;
}

/// The probabilities of `uniform`.
inline Shares uniform_shares(Candidates from) {
  Shares shares{};
  for (auto mirror : from) shares[mirror] = 1.0 / static_cast<double>(from.size());
  return shares;
}

/// The probabilities of `weighted_by_karma`.
inline Shares karma_shares(MirrorViews mirrors, Candidates from) {
  double total = 0;
  for (auto mirror : from) total += usable(mirrors[mirror].karma);
  if (!drawable(total)) return uniform_shares(from);
  Shares shares{};
  for (auto mirror : from) shares[mirror] = usable(mirrors[mirror].karma) / total;
  return shares;
}

/// The probabilities of `less_busy_of_two`: of the n (n - 1) / 2 pairs, which are equally likely,
/// those a mirror wins, and half of those it ties.
inline Shares two_choice_shares(MirrorViews mirrors, Candidates from) {
  if (from.size() < 2) return uniform_shares(from);
  const auto count = static_cast<double>(from.size());
  const auto pair = 2 / (count * (count - 1));
  Shares shares{};
  for (auto mirror : from)
    for (auto rival : from) {
      if (rival == mirror) continue;
      if (mirrors[mirror].in_flight < mirrors[rival].in_flight) shares[mirror] += pair;
      if (mirrors[mirror].in_flight == mirrors[rival].in_flight) shares[mirror] += pair / 2;
    }
  return shares;
}

}  // namespace karmad
