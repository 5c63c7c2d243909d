#pragma once

#include <memory>
#include <vector>

#include "agent/mirrors/attempt.hpp"
#include "agent/mirrors/mirror_set.hpp"
#include "agent/mirrors/ping_schedule.hpp"
#include "agent/ping_kinds/ping_kinds.hpp"
#include "agent/transport/exchange.hpp"

namespace karmad {

struct PingSettings {
  Micros interval{};
  Micros timeout{};
  const PingKind* kind = nullptr;
  std::string path;   ///< empty: the kind's default
  std::string table;  ///< the agent's name of the table, for kinds that need it
  bool operator==(const PingSettings&) const = default;
};

/// Pings one agent repeatedly on its own connection: an interval after the last ping (SD-003), or
/// only after an interval without any reply (HA-013). Reports to the subscribed mirror sets. Runs
/// on worker 0.
class Pinger final : public Pings {
 public:
  Pinger(Loop& loop, std::shared_ptr<Agent> agent, PingSettings settings, LookUp look_up);
  Pinger(const Pinger&) = delete;
  Pinger& operator=(const Pinger&) = delete;
  ~Pinger() override;

  bool asks(const Agent& agent, const PingSettings& settings) const {
    return &agent == agent_.get() && settings == settings_;
  }
  /// Subscribes a mirror of a set. `always`: ping also while queries show that the agent is alive
  /// . Before start().
  void subscribe(std::shared_ptr<MirrorSet> set, std::size_t mirror, bool always) {
    subscribers_.push_back({std::move(set), mirror});
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
  Task<AttemptResult> ask(const PingRequest& request, TimePoint deadline, Stop& stop);
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
