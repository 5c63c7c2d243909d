#pragma once

#include <algorithm>
#include <array>
#include <bit>
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

/// The first position whose running sum is above `drawn`; if rounding drew the very end, the last
/// position with a weight. `sums.back()` is above 0. Counts instead of searching, because the
/// branches of a search would be unpredictable.
template <std::size_t kCount>
std::size_t position_in(const std::array<double, kCount>& sums, double drawn) {
  const auto below_end = std::bit_cast<double>(std::bit_cast<std::uint64_t>(sums.back()) - 1);
  drawn = std::min(drawn, below_end);
  std::size_t position = 0;
  for (auto sum : sums) position += static_cast<std::size_t>(sum <= drawn);
  return position;
}

/// The running sums of eight weights, in pairs: a chain of four additions instead of seven. A
/// weight of 0 adds nothing in any rounding.
constexpr std::array<double, 8> running_sums(const std::array<double, 8>& w) {
  const auto two = w[0] + w[1];
  const auto four = two + (w[2] + w[3]);
  const auto six = four + (w[4] + w[5]);
  return {w[0], two, two + w[2], four, four + w[4], six, six + w[6], six + (w[6] + w[7])};
}

/// One of `from` (not empty), with a probability proportional to its karma. A mirror without weight
/// is never chosen; if no mirror has weight, or the sum is infinite, all have equal chances.
/// Allocates nothing.
inline std::size_t weighted_by_karma(MirrorViews mirrors, Candidates from, RandomSource& random) {
  // Draws a block of eight, then a position in it, without branches on weights and with short
  // chains of additions.
  constexpr std::size_t kAtOnce = 8;
  std::array<std::array<double, kAtOnce>, Candidates::kMost / kAtOnce> sums;
  std::array<double, Candidates::kMost / kAtOnce> ends;
  std::size_t blocks = 0;
  double total = 0;
  for (std::size_t start = 0; start < mirrors.size(); start += kAtOnce) {
    std::array<double, kAtOnce> weights{};
    const auto weigh = [&](std::size_t i) {
      weights[i] = from.contains(start + i) ? usable(mirrors[start + i].karma) : 0.0;
    };
    if (start + kAtOnce <= mirrors.size()) {
      for (std::size_t i = 0; i < kAtOnce; ++i) weigh(i);
    } else {
      for (std::size_t i = 0; start + i < mirrors.size(); ++i) weigh(i);
    }
    sums[blocks] = running_sums(weights);
    total += sums[blocks].back();
    ends[blocks++] = total;
  }
  if (!drawable(total)) return uniform(from, random);

  for (auto block = blocks; block < ends.size(); ++block) ends[block] = total;
  auto drawn = random.uniform() * total;
  const auto block = position_in(ends, drawn);
  if (block > 0) drawn -= ends[block - 1];
  return block * kAtOnce + position_in(sums[block], drawn);
}

/// Draws two different mirrors of `from` (not empty) and takes the one with fewer attempts in
/// flight; a tie is decided at random (SS-125, SS-126). Comparing two avoids a scan, and that all
/// queries go to the single least busy mirror.
inline std::size_t less_busy_of_two(MirrorViews mirrors, Candidates from, RandomSource& random) {
  if (from.size() == 1) return from.nth(0);
  const auto first = random.below(from.size());
  auto second = random.below(from.size() - 1);
  if (second >= first) ++second;  // skips `first`, with equal chances for all others
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

/// The probabilities of `less_busy_of_two`: of the n (n - 1) / 2 equally likely pairs, those the
/// mirror wins, and half of its ties.
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
