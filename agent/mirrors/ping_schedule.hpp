#pragma once

#include <algorithm>
#include <optional>
#include <utility>

#include "agent/health/state.hpp"
#include "agent/stats/outcome.hpp"
#include "strategies/time.hpp"

namespace karmad {

/// When an agent is pinged next: an interval after the last ping (SD-003), or only after an
/// interval without any reply (HA-013); earlier on demand (SD-004, SD-008). Without a clock of its
/// own.
class PingSchedule {
 public:
  explicit PingSchedule(Micros interval) : interval_(interval) {}

  /// Ping also while queries show that the agent is alive.
  void always() { always_ = true; }
  /// Ping at once, but not within `spacing` of the end of the last ping.
  void check_now(Micros spacing) {
    check_after_ = std::min(check_after_.value_or(spacing), spacing);
  }
  void ping_starts() {
    check_after_.reset();
    repeated_ = std::exchange(again_, false);
  }
  void ping_ended(TimePoint now) { ended_ = now; }
  /// Ping once more without a pause, unless the last ping was such a repetition (SD-008).
  void repeat() { again_ = again_ || !repeated_; }
  /// `last_reply`: of the agent, to any attempt or ping.
  TimePoint due(TimePoint last_reply) const {
    if (ended_ == TimePoint{} || again_) return {};
    const auto usual = (always_ ? ended_ : std::max(ended_, last_reply)) + interval_;
    return check_after_ ? std::min(usual, ended_ + *check_after_) : usual;
  }

 private:
  Micros interval_;
  TimePoint ended_{};                  ///< when the last ping ended
  std::optional<Micros> check_after_;  ///< spacing of the requested check, if there is one
  bool again_ = false;
  bool repeated_ = false;  ///< the last ping was a repetition
  bool always_ = false;
};

/// The kind of failure of a ping; nothing if it shows nothing about the agent. `silent`: the agent
/// has not replied to any request since the ping started.
inline std::optional<PingFailure> ping_failure(Outcome outcome, bool silent) {
  switch (outcome) {
    case Outcome::connect_failed:
    case Outcome::broken:
    case Outcome::closed_early:
      return PingFailure::network;
    case Outcome::connect_timeout:
    case Outcome::query_timeout:
      return silent ? PingFailure::timeout : PingFailure::slow;
    case Outcome::cancelled:
    case Outcome::local_error:
      return std::nullopt;
    default:
      return PingFailure::answer;
  }
}

}  // namespace karmad
