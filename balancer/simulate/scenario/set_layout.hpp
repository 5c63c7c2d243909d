#pragma once

#include <algorithm>
#include <vector>

#include "balancer/simulate/scenario/scenario.hpp"

namespace karmad {

/// How simulated mirrors are divided into sets of at most 64. Mirrors and sets are counted from 0.
class SetLayout {
 public:
  static constexpr unsigned kMostInSet = 64;

  /// Sets as equal as possible.
  explicit SetLayout(unsigned mirrors) {
    const auto sets = (mirrors + kMostInSet - 1) / kMostInSet;
    for (unsigned set = 0; set <= sets; ++set) firsts_.push_back(set * mirrors / sets);
  }
  /// Sets of these sizes, none of which is 0.
  explicit SetLayout(const std::vector<unsigned>& sizes) : firsts_{0} {
    for (const auto size : sizes) firsts_.push_back(firsts_.back() + size);
  }
  unsigned mirrors() const { return firsts_.back(); }
  unsigned sets() const { return static_cast<unsigned>(firsts_.size() - 1); }
  /// The first mirror of a set; for `sets()` the number of mirrors.
  unsigned first(unsigned set) const { return firsts_[set]; }
  unsigned size(unsigned set) const { return first(set + 1) - first(set); }
  unsigned set_of(unsigned mirror) const {
    return static_cast<unsigned>(std::ranges::upper_bound(firsts_, mirror) - firsts_.begin()) - 1;
  }

 private:
  std::vector<unsigned> firsts_;
};

inline SetLayout layout_of(const Scenario& scenario) {
  return scenario.set_sizes.empty() ? SetLayout(scenario.mirrors) : SetLayout(scenario.set_sizes);
}

}  // namespace karmad
