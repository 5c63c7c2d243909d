#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "strategies/time.hpp"

namespace karmad {

/// How many mirrors have to agree on a read: together with the majority an update was brought to
/// they are more than there are (CO-071).
constexpr std::size_t read_quorum(std::size_t mirrors) {
  return mirrors - mirrors / 2;
}

/// An answer to a quorum read; one that counts, so not a mirror's trouble.
struct QuorumAnswer {
  std::optional<std::uint64_t> generation;  ///< of the data it was made from
  bool succeeded = true;                    ///< else the mirror refused the query as a mistake
};

struct QuorumVerdict {
  enum class Kind : std::uint8_t {
    met,      ///< enough answers are of the newest generation
    behind,   ///< too few are: the others have to catch up
    too_few,  ///< answers that can be compared
    unknown,  ///< the same, because mirrors do not say of which generation they are
  };
  Kind kind = Kind::too_few;
  std::size_t winner = 0;        ///< of the answers: newest generation, succeeded ones first
  std::uint64_t generation = 0;  ///< the winner's
  bool operator==(const QuorumVerdict&) const = default;
};

/// What answers come to when `needed` have to agree (CO-072). Where one is enough nothing has to be
/// compared, and no generation is asked for.
QuorumVerdict judge(std::span<const QuorumAnswer> answers, std::size_t needed);

/// How long the n-th step of a barrier, from 0, waits for mirrors to catch up: 6 × 5 ms, where
/// there are several zones then 4 × 10 ms and 30 × 30 ms (CO-074). Nothing: the barrier is over.
std::optional<Micros> barrier_pause(unsigned step, bool several_zones);

/// What a quorum read does next (CO-070 … CO-075); the reads, the barriers and their times are the
/// caller's. A value without a clock.
class QuorumPlan {
 public:
  static constexpr unsigned kRounds = 6;         ///< CO-074
  static constexpr unsigned kPrimaryTries = 6;   ///< CO-075
  static constexpr Micros kPrimaryPause{5'000};  ///< between them, and before the others again

  /// `replicas`: mirrors that are not the primary; `primary`: whether one is known.
  QuorumPlan(std::size_t replicas, bool primary)
      : primary_(primary), first_asks_primary_(replicas <= 3) {}

  enum class Do : std::uint8_t {
    read,     ///< ask enough mirrors, all at once
    settle,   ///< ask as many mirrors more as could make them agree
    barrier,  ///< wait for enough mirrors to reach the verdict's generation
    primary,  ///< ask the primary, after the pause
    answer,   ///< with the verdict's winner, or the primary's answer
    fail,     ///< the quorum was not met
  };
  struct Step {
    Do what = Do::read;
    Micros pause{};             ///< before it
    bool with_primary = false;  ///< of a barrier: the primary counts
    bool operator==(const Step&) const = default;
  };

  /// The reads of a round have ended. `can_settle`: there are mirrors that this round has not
  /// asked, and only their answers tell of which generation they are.
  Step after(const QuorumVerdict& verdict, bool can_settle = false);
  /// A barrier has; `pointless`: no mirror is left that could catch up (CO-074).
  Step after_barrier(bool reached, bool pointless = false);
  /// The primary was asked; `newest`: its answer is not older than any other of this read.
  Step after_primary(bool answered, bool newest);

 private:
  Step next_round(Micros pause);

  bool primary_;
  bool first_asks_primary_;
  bool second_barrier_ = false;
  unsigned rounds_ = 1;  // begun
  unsigned primary_tries_ = 0;
};

}  // namespace karmad
