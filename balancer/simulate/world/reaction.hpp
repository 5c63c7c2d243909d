#pragma once

#include <cstdint>
#include <vector>

#include "balancer/simulate/scenario/scenario.hpp"
#include "balancer/simulate/scenario/set_layout.hpp"
#include "strategies/time.hpp"

namespace karmad {

/// Measures how soon a strategy reacts to the first and to the last change of the mirrors: the part
/// of the attempts that the changed mirrors get, in short periods. A period has about 64 attempts
/// per mirror, so that chance does not look like a reaction. A change of whole sets has no
/// reaction.
class ReactionTimes {
 public:
  ReactionTimes(const Scenario& scenario, const SetLayout& layout, TimePoint begin);

  void attempt_sent(unsigned mirror, TimePoint now) {
    if (!measured_) return;
    count(first_, mirror, now);
    count(last_, mirror, now);
  }
  /// Negative: never, or there is no such change.
  Micros noticed() const;
  Micros recovered() const;

 private:
  struct Period {
    std::uint32_t all = 0;
    std::uint32_t changed = 0;
  };
  /// Attempts before a change and in the periods after it.
  struct Change {
    TimePoint from{};
    TimePoint until{};
    unsigned first = 0;  ///< the changed mirrors …
    unsigned last = 0;   ///< … and one after them
    unsigned begin = 0;  ///< all mirrors of their sets …
    unsigned end = 0;    ///< … likewise
    Period before;
    std::vector<Period> periods;
  };

  void start(Change& change, const MirrorChange& of, const SetLayout& layout, TimePoint begin,
             TimePoint until);
  void count(Change& change, unsigned mirror, TimePoint now) const;
  template <class Reached>
  Micros time_until(const Change& change, Reached reached) const;

  bool measured_ = false;
  bool changes_back_ = false;
  Micros period_{1};
  Change first_;
  Change last_;
};

}  // namespace karmad
