#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "agent/health/state.hpp"
#include "agent/mirrors/attempt.hpp"
#include "agent/mirrors/mirror_set.hpp"
#include "agent/ping_kinds/ping_kinds.hpp"
#include "agent/stats/outcome.hpp"
#include "agent/transport/exchange.hpp"
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

struct PingSettings {
  Micros interval{};
  Micros timeout{};
  const PingKind* kind = nullptr;
  std::string path;             ///< empty: the kind's default
  std::string table;            ///< the agent's name of the table, for kinds that need it
  std::string authorization{};  ///< value of that field; empty: none
  bool operator==(const PingSettings&) const = default;
};

/// Pings one agent repeatedly on its own connection: an interval after the last ping (SD-003), or
/// only after an interval without any reply (HA-013). Reports to the subscribed mirror sets. Runs
/// on worker 0.
class Pinger final : public Pings {
 public:
  Pinger(Loop& loop, std::shared_ptr<Agent> agent, PingSettings settings, LookUp look_up);
  ~Pinger() override;

  bool asks(const Agent& agent, const PingSettings& settings) const {
    return &agent == agent_.get() && settings == settings_;
  }
  /// Subscribes a mirror of a set. `always`: ping also while queries show that the agent is alive
  /// . Before start().
  void subscribe(std::shared_ptr<MirrorSet> set, std::size_t mirror, bool always) {
    subscribers_.emplace_back(std::move(set), mirror);
    if (always) schedule_.always();
  }

  void start();
  /// Cancels the ping in progress; `stopped()` once it has ended.
  void stop();
  bool stopped() const { return !running_ && pool_.unused(); }

  void check_now(Micros spacing) override;
  void break_off() override;

 private:
  Task<void> run();
  Task<void> ping();
  Task<AttemptResult> ask(const PingRequest& ping, TimePoint deadline, Stop& stop);
  Task<void> publish(const AttemptResult& result, std::expected<Description, std::string> told,
                     Micros trip, bool silent, TimePoint ended);
  TimePoint due() const;

  Loop& loop_;
  std::shared_ptr<Agent> agent_;
  PingSettings settings_;
  PingSchedule schedule_;
  std::vector<std::pair<std::shared_ptr<MirrorSet>, std::size_t>> subscribers_;
  ConnectionLimits limits_;  ///< pings have connections of their own
  Pool pool_;
  Stop* waiting_ = nullptr;
  Stop* pinging_ = nullptr;
  bool running_ = false;
  bool stopping_ = false;
};

}  // namespace karmad
