#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "strategies/time.hpp"

namespace karmad {

/// Number of mirrors that must agree on a read: together with a majority that has an update they
/// are more than all mirrors (CO-071).
constexpr std::size_t read_quorum(std::size_t mirrors) {
  return mirrors - mirrors / 2;
}

/// An answer to a quorum read. Errors of a mirror do not count as answers.
struct QuorumAnswer {
  std::optional<std::uint64_t> generation;  ///< generation of the data it was made from
  bool succeeded = true;                    ///< false: the mirror refused the query as a mistake
};

struct QuorumVerdict {
  enum class Kind : std::uint8_t {
    met,      ///< enough answers have the newest generation
    behind,   ///< too few have it: mirrors must catch up
    too_few,  ///< too few comparable answers
    unknown,  ///< the same, because no mirror reports a generation
  };
  Kind kind = Kind::too_few;
  std::size_t winner = 0;        ///< index of the answer: newest generation, success preferred
  std::uint64_t generation = 0;  ///< the winner's
  bool operator==(const QuorumVerdict&) const = default;
};

/// The verdict if `needed` mirrors must have the answer's generation (CO-072). If one is enough,
/// generations are not needed.
///
/// `fresh`: the newest generation of the first answers of this read; nothing while these are
/// judged. No update that was acknowledged before the read is newer, so in later rounds an answer
/// of that generation is enough, although other mirrors have become newer meanwhile. `seen`: the
/// newest generation that each mirror has reported in this read.
QuorumVerdict judge(std::span<const QuorumAnswer> answers, std::size_t needed,
                    std::span<const std::optional<std::uint64_t>> seen,
                    std::optional<std::uint64_t> fresh = std::nullopt);

/// The wait in step n (from 0) of a barrier, while mirrors catch up: 6 × 5 ms, with several zones
/// then 4 × 10 ms and 30 × 30 ms (CO-074). Nothing: the barrier has ended.
std::optional<Micros> barrier_pause(unsigned step, bool several_zones);

/// The steps of a quorum read (CO-070 … CO-075); the caller does the reads, barriers and waits. A
/// value without a clock.
class QuorumPlan {
 public:
  static constexpr unsigned kRounds = 6;         ///< CO-074
  static constexpr unsigned kPrimaryTries = 6;   ///< CO-075
  static constexpr Micros kPrimaryPause{5'000};  ///< between the tries, and before the next round

  /// `replicas`: number of mirrors that are not the primary; `primary`: whether one is known.
  QuorumPlan(std::size_t replicas, bool primary)
      : primary_(primary), first_asks_primary_(replicas <= 3) {}

  enum class Do : std::uint8_t {
    read,     ///< ask enough mirrors at the same time
    settle,   ///< ask as many further mirrors as may give agreement
    barrier,  ///< wait until enough mirrors reach the verdict's generation
    primary,  ///< ask the primary, after the pause
    answer,   ///< with the verdict's winner, or the primary's answer
    fail,     ///< the quorum was not reached
  };
  struct Step {
    Do what = Do::read;
    Micros pause{};             ///< before it
    bool with_primary = false;  ///< of a barrier: includes the primary
    bool operator==(const Step&) const = default;
  };

  /// The reads of a round have ended. `can_settle`: some mirrors were not asked in this round, and
  /// generations are known only from answers.
  Step after(const QuorumVerdict& verdict, bool can_settle = false);
  /// A barrier has ended; `pointless`: no mirror is left that could catch up (CO-074).
  Step after_barrier(bool reached, bool pointless = false);
  /// The primary was asked; `newest`: no other answer of this read is newer.
  Step after_primary(bool answered, bool newest);

 private:
  Step next_round(Micros pause);

  bool primary_;
  bool first_asks_primary_;
  bool second_barrier_ = false;
  unsigned rounds_ = 1;  // number of rounds started
  unsigned primary_tries_ = 0;
};

}  // namespace karmad
