#pragma once

#include <cstdint>

#include "balancer/watch/recent_work.hpp"

namespace karmad {

/// A time in which searches at a mirror fail, found from sums that are sampled twice a second.
/// Pings do not count: a mirror may answer them and fail every search.
///
/// It begins when the last three searches failed, or a fifth of at least five recent ones and two.
/// It ends when so many searches in a row were answered that a mirror that fails as many as this
/// one did would do that once in ten thousand times; of a mirror that failed every search, three.
/// It ends too when a ping is answered by a mirror that could not be reached.
class FailureSpell {
 public:
  static constexpr std::uint32_t kInARow = 3;
  static constexpr std::uint64_t kFewAttempts = 5;
  static constexpr double kFailingShare = 0.2;
  static constexpr double kChance = 1e-4;
  static constexpr std::uint32_t kLasting = 10;  ///< 5 s

  /// The last searches, in their order.
  struct LastSearches {
    std::uint32_t failed_in_a_row = 0;    ///< since the last answer
    std::uint32_t answered_in_a_row = 0;  ///< since the last failure, or fewer
    bool reached = false;                 ///< the last one got no connection, but then a ping did
  };
  /// `since_start`: the sums; `recent`: WorkWindow::recent().
  void observe(const RecentWork& since_start, const RecentWork& recent, const LastSearches& last);

  bool goes_on() const { return goes_on_; }
  std::uint32_t in_a_row() const { return in_a_row_; }
  /// The last search failed, and none was answered for kLasting samples: a strategy that avoids the
  /// mirror for that may never ask it for a third time.
  bool lasts() const { return samples_ >= kLasting; }
  /// Answers since the last failure.
  std::uint64_t answers() const { return answers_; }

 private:
  std::uint64_t answers_that_end_it() const;

  bool goes_on_ = false;
  std::uint32_t in_a_row_ = 0;
  std::uint32_t samples_ = 0;  ///< with failures in a row, the last ones
  std::uint64_t answers_ = 0;
  RecentWork last_;  ///< sums at the last sample
  // Of this spell:
  std::uint64_t failed_ = 0;
  std::uint64_t ended_ = 0;
};

}  // namespace karmad
