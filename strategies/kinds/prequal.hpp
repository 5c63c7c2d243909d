#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "strategies/expected_wait.hpp"
#include "strategies/strategy.hpp"

namespace karmad {

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

  Prequal(std::uint32_t tolerated_errors, std::size_t drawn)
      : AvoidsDead(tolerated_errors), drawn_(drawn) {}

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

}  // namespace karmad
