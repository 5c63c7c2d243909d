#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "strategies/expected_wait.hpp"
#include "strategies/strategy.hpp"

namespace karmad {

/// The less busy of two random mirrors that are not dead (SS-125, SS-126, X-5). Dead ones (HA-022)
/// are excluded: a mirror that fails at once is never busy and would get most queries.
class LeastOps final : public AvoidsDead {
 public:
  using AvoidsDead::AvoidsDead;
  std::size_t choose(MirrorViews mirrors, Candidates from, RandomSource& random) const override {
    return less_busy_of_two(mirrors, from, random);
  }
  Shares shares(MirrorViews mirrors, Candidates from) const override {
    return two_choice_shares(mirrors, from);
  }
};

/// Of some mirrors drawn at random (`choices`, two by default), the one with the lowest expected
/// wait (expected_wait.hpp). Only mirrors are drawn whose wait is at most kNear times the lowest of
/// all: two that were drawn blindly may both be slow. It never compares all of three or more of
/// them, so that several masters do not all send to the single best one. Dead mirrors (HA-022) are
/// excluded.
class Adaptive final : public AvoidsDead {
 public:
  /// Simulated: with 4 p99.9 is up to 6 % higher where mirrors differ in size; if all are drawn
  /// from, half as high again where a third of them is slow (decision 023).
  static constexpr float kNear = 2;

  Adaptive(std::uint32_t dead_after, std::size_t choices)
      : AvoidsDead(dead_after), choices_(choices) {}

  std::size_t choose(MirrorViews mirrors, Candidates from, RandomSource& random) const override {
    const ExpectedWait wait(mirrors, from, evenly_weighted(mirrors, from) ? 0 : random.uniform());
    const auto drawn_from = near(from, wait);
    return cheapest(draw(drawn_from, compared(drawn_from), random), random, wait);
  }
  Shares shares(MirrorViews mirrors, Candidates from) const override {
    double heaviest = 0;
    for (const auto mirror : from) heaviest = std::max(heaviest, mirrors[mirror].weight);
    std::array<double, Candidates::kMost + 1> parts{1};
    std::size_t count = 1;
    for (const auto mirror : from)
      if (mirrors[mirror].weight > 0) parts[count++] = mirrors[mirror].weight / heaviest;
    std::ranges::sort(std::span(parts).first(count));
    Shares sum{};
    double drawn01 = 0;  // choose() decides alike for all draws between two parts
    for (const auto part : std::span(parts).first(count)) {
      if (part == drawn01) continue;
      const ExpectedWait wait(mirrors, from, drawn01);
      const auto drawn_from = near(from, wait);
      const auto shares = cheapest_shares(drawn_from, compared(drawn_from), wait);
      for (const auto mirror : drawn_from) sum[mirror] += (part - drawn01) * shares[mirror];
      drawn01 = part;
    }
    return sum;
  }

 private:
  static Candidates near(Candidates from, const ExpectedWait& wait) {
    Candidates near;
    for (const auto mirror : from)
      if (wait(mirror) <= kNear * wait.least()) near.insert(mirror);
    return near;
  }
  std::size_t compared(Candidates from) const {
    return from.size() > 2 ? std::min(choices_, from.size() - 1) : from.size();
  }

  std::size_t choices_;
};

/// The rule of Prequal (Wydrowski et al., NSDI 2024): a mirror is hot if its attempts in flight are
/// above the 84 % quantile of its set. Of the mirrors drawn at random, the cold one with the lowest
/// latency; if all are hot, the one with the fewest attempts in flight. Prequal learns the numbers
/// by probes; here the attempts of this process are counted instead. Dead mirrors (HA-022) are
/// excluded.
class Prequal final : public AvoidsDead {
 public:
  /// Prequal's quantile of requests in flight.
  static constexpr double kHot = 0.84;
  /// Mirrors drawn if `choices` is not set: Prequal sends about three probes per query.
  static constexpr std::size_t kDrawn = 3;

  Prequal(std::uint32_t dead_after, std::size_t drawn) : AvoidsDead(dead_after), drawn_(drawn) {}

  std::size_t choose(MirrorViews mirrors, Candidates from, RandomSource& random) const override {
    return cheapest(draw(from, drawn_, random), random, HotCold(mirrors, from));
  }
  Shares shares(MirrorViews mirrors, Candidates from) const override {
    return cheapest_shares(from, drawn_, HotCold(mirrors, from));
  }

 private:
  /// Orders cold mirrors by latency, and after them the hot ones by attempts in flight.
  class HotCold {
   public:
    HotCold(MirrorViews mirrors, Candidates from) : mirrors_(mirrors) {
      std::array<float, Candidates::kMost> loads;
      std::size_t count = 0;
      for (const auto mirror : from) loads[count++] = load_of(mirrors[mirror]);
      if (count == 0) return;
      const auto place = static_cast<std::size_t>(kHot * static_cast<double>(count - 1));
      std::nth_element(loads.begin(), loads.begin() + place, loads.begin() + count);
      hot_above_ = loads[place];
    }
    float operator()(std::size_t of) const {
      constexpr float kAllCold = 1e15F;  // µs
      const auto& mirror = mirrors_[of];
      const auto load = load_of(mirror);
      return load > hot_above_ ? kAllCold + kAllCold * load : duration_now(mirror);
    }

   private:
    static float load_of(const MirrorView& mirror) {
      constexpr double kLeast = 1e-6;  // so that a weight of 0 is comparable
      return static_cast<float>(mirror.in_flight / std::max(mirror.weight, kLeast));
    }
    MirrorViews mirrors_;
    float hot_above_ = 0;
  };

  std::size_t drawn_;
};

/// The rank of C3 (Suresh et al., NSDI 2015), which Elasticsearch calls adaptive replica selection,
/// as in its version 9.5: the cube of the estimated queue times the service time. Servers do not
/// report their queue here, so the queue is one more than the attempts in flight, and the service
/// time is the usual duration of a search.
inline float c3_rank(const MirrorView& mirror) {
  const auto queue = (static_cast<float>(mirror.in_flight) + 1) / static_cast<float>(mirror.weight);
  return queue * queue * queue * duration_now(mirror);
}

/// The mirror with the lowest rank of all; a tie is decided at random. Several masters may choose
/// the same one. Dead mirrors (HA-022) are excluded.
class Ars final : public AvoidsDead {
 public:
  using AvoidsDead::AvoidsDead;
  std::size_t choose(MirrorViews mirrors, Candidates from, RandomSource& random) const override {
    return cheapest(from, random, [&](auto mirror) { return c3_rank(mirrors[mirror]); });
  }
  Shares shares(MirrorViews mirrors, Candidates from) const override {
    return cheapest_shares(from, from.size(),
                           [&](auto mirror) { return c3_rank(mirrors[mirror]); });
  }
};

}  // namespace karmad
