#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "agent/stats/outcome.hpp"
#include "strategies/time.hpp"

namespace karmad::simulate {

/// Attempts recorded at most this long before or after a simulated one may stand for it. Shorter
/// than a pause of a mirror that matters to a strategy (seconds), and at 30 attempts per second and
/// mirror still a choice of 30.
inline constexpr Micros kReplayWindow = std::chrono::milliseconds(500);
/// Most attempts, before and after a cancelled one each, among which RecordedMirror::at() searches
/// its probable end: a limit for the time of one call.
inline constexpr std::size_t kReplayNeighbours = 64;

/// What a mirror does with a simulated attempt.
struct ReplayedService {
  Micros took{};
  Outcome outcome = Outcome::answered;
  unsigned status = 0;  ///< HTTP status of its reply; 0: none, or unknown
  bool operator==(const ReplayedService&) const = default;
};

/// An attempt of the access log.
struct RecordedAttempt {
  Micros start{};  ///< since the first arrival
  std::uint32_t took_us = 0;
  std::uint16_t status = 0;  ///< of an error reply; 0: none
  Outcome outcome = Outcome::cancelled;
  bool operator==(const RecordedAttempt&) const = default;
};

/// The recorded attempts of one mirror, and the behaviour that they suggest for other attempts.
///
/// Limits of this model: a recorded duration includes connecting, and the queueing that the
/// recorded load caused. A mirror that gets more attempts than recorded does not become slower
/// here, nor one that gets fewer faster. The attempts of a request at several shards are drawn
/// independently.
class RecordedMirror {
 public:
  RecordedMirror() = default;
  /// `weights`: how many attempts each recorded one stands for; empty: each one. Any order.
  explicit RecordedMirror(std::vector<RecordedAttempt> attempts, std::vector<double> weights = {});

  bool empty() const { return attempts_.empty(); }
  /// Sorted by their start.
  std::span<const RecordedAttempt> attempts() const { return attempts_; }

  /// What an attempt sent at `time` gets: the duration and end of a recorded attempt within
  /// kReplayWindow of it, chosen by `draw01` in [0, 1) with its weight; of the nearest one if there
  /// is none. Failures so have their recorded share. A cancelled attempt tells only that the mirror
  /// had not answered yet: it gets the end of the nearest attempt that took at least as long and
  /// was not cancelled, or an answer at the time of the cancellation. Needs at least one attempt.
  /// Any thread; a few binary searches.
  ReplayedService at(Micros time, double draw01) const;

 private:
  double weight_before(std::size_t attempt) const {
    return attempt == 0 ? 0 : weight_through_[attempt - 1];
  }
  std::size_t nearest(std::size_t next, Micros time) const;
  std::size_t drawn(std::size_t first, std::size_t last, double draw01) const;
  ReplayedService completed(std::size_t cancelled) const;

  std::vector<RecordedAttempt> attempts_;
  std::vector<double> weight_through_;  ///< sum of the weights of all up to each
};

}  // namespace karmad::simulate
