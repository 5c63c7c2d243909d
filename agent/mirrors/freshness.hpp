#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "strategies/time.hpp"

namespace karmad {

/// When each generation of a mirror set's data was first seen, by the master's clock alone: what
/// stands in for the time of the last write where an engine only counts updates. A mirror at the
/// newest generation is fresh at the moment it says so; one at an older generation was fresh until
/// anything newer was seen, anywhere in the set. So a set counts as one that is written to all the
/// time, and freshness is known as exactly as the set is pinged.
///
/// Holds kMost moments. When there are more, two neighbours become one, those that are closest
/// together for their age: what a mirror missed is then taken to have come at the earlier of the
/// two. That never makes a stale mirror look fresher.
class Freshness {
 public:
  static constexpr std::size_t kMost = 1024;

  /// A mirror showed this generation.
  void seen(std::uint64_t generation, TimePoint at);
  /// Until when a mirror that showed this generation at `at` was fresh; never after `at`.
  TimePoint fresh_until(std::uint64_t generation, TimePoint at) const;
  /// Generations above this one are void: rolled back, or counted anew.
  void forget_newer(std::uint64_t generation);
  std::size_t size() const { return firsts_.size(); }

 private:
  struct First {
    std::uint64_t generation = 0;  ///< the newest of those first seen at `at`
    TimePoint at{};
  };

  void merge_two(TimePoint now);

  // Generations and moments both ascend: one that comes late, after a newer one, decides nothing.
  std::vector<First> firsts_;
};

}  // namespace karmad
