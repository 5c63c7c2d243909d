#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "strategies/time.hpp"

namespace karmad {

/// When each generation of a mirror set's data was first seen, by karmad's clock. It replaces the
/// time of the last write for engines that only count updates. A mirror at the newest generation is
/// fresh at the moment of its ping; one at an older generation was fresh until a newer one was
/// first seen at any mirror. This assumes a set that is written to all the time; the ping interval
/// limits the precision.
///
/// Holds at most kMost moments. Beyond that, the two neighbours closest together for their age are
/// merged into the earlier moment. So a stale mirror never looks fresher than it is.
class Freshness {
 public:
  static constexpr std::size_t kMost = 1024;

  /// A mirror reported this generation.
  void seen(std::uint64_t generation, TimePoint at);
  /// Until when a mirror that reported this generation at `at` was fresh; never after `at`.
  TimePoint fresh_until(std::uint64_t generation, TimePoint at) const;
  /// Generations above this one are invalid: rolled back, or counting restarted.
  void forget_newer(std::uint64_t generation);
  std::size_t size() const { return firsts_.size(); }

 private:
  struct First {
    std::uint64_t generation = 0;  ///< the newest generation first seen at `at`
    TimePoint at{};
  };

  void merge_two(TimePoint now);

  // Ascending in generation and time: an older generation seen after a newer one is not entered.
  std::vector<First> firsts_;
};

}  // namespace karmad
