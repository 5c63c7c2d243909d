#pragma once

#include <memory>
#include <vector>

#include "agent/mirrors/attempt.hpp"
#include "agent/mirrors/mirror_set.hpp"
#include "agent/ping_kinds/ping_kinds.hpp"
#include "agent/transport/exchange.hpp"

namespace karmad {

struct PingSettings {
  Micros interval{};
  Micros timeout{};
  const PingKind* kind = nullptr;
  std::string path;   ///< empty: the kind's own
  std::string table;  ///< the agent's name of it, for kinds that ask about one
  bool operator==(const PingSettings&) const = default;
};

/// Asks one agent, again and again, how it is: on a connection of its own, an interval after the
/// last time (SD-003), or only when nothing was heard of it for an interval (HA-013). Tells the
/// mirror sets that subscribed. Lives on worker 0.
class Pinger final : public Pings {
 public:
  Pinger(Loop& loop, std::shared_ptr<Agent> agent, PingSettings settings, LookUp look_up);
  Pinger(const Pinger&) = delete;
  Pinger& operator=(const Pinger&) = delete;
  ~Pinger() override;

  bool asks(const Agent& agent, const PingSettings& settings) const {
    return &agent == agent_.get() && settings == settings_;
  }
  /// Whom to tell of what is found out. `always`: it wants to know also while queries show that the
  /// agent is alive. Before start().
  void tell(std::shared_ptr<MirrorSet> set, std::size_t mirror, bool always) {
    subscribers_.push_back({std::move(set), mirror});
    always_ = always_ || always;
  }

  void start();
  /// Breaks off what it does; `stopped()` once it has come to an end.
  void stop();
  bool stopped() const { return !running_ && pool_.unused(); }

  void check_now(Micros spacing) override;
  void break_off() override;

 private:
  Task<void> run();
  Task<void> ping();
  Task<AttemptResult> ask(const PingRequest& request, TimePoint deadline, Stop& stop);
  void tell_of(const AttemptResult& result, std::expected<Description, std::string> told,
               Micros trip, bool silent);
  TimePoint due() const;

  Loop& loop_;
  std::shared_ptr<Agent> agent_;
  PingSettings settings_;
  std::vector<std::pair<std::shared_ptr<MirrorSet>, std::size_t>> subscribers_;
  ConnectionLimits limits_;  ///< pings have connections of their own
  Pool pool_;
  Stop* waiting_ = nullptr;
  Stop* pinging_ = nullptr;
  TimePoint ended_{};                  ///< the end of the last ping
  std::optional<Micros> check_after_;  ///< the end of the last ping, if one was asked for
  bool again_ = false;                 ///< once more, without a pause (SD-008)
  bool repeated_ = false;              ///< the last ping was such a repetition
  bool always_ = false;
  bool running_ = false;
  bool stopping_ = false;
};

}  // namespace karmad
