#pragma once

#include <memory>

#include "agent/transport/exchange.hpp"

namespace karmad {

struct PingSettings {
  Micros interval{};
  Micros timeout{};
  std::string path;
};

/// Asks one agent, again and again, whether it is alive: on a connection of its own, when nothing
/// was heard of it for an interval (HA-013). Lives on worker 0; any 2xx answer is a sign of life.
class Pinger {
 public:
  Pinger(Loop& loop, std::shared_ptr<Agent> agent, PingSettings settings, LookUp look_up);
  Pinger(const Pinger&) = delete;
  Pinger& operator=(const Pinger&) = delete;
  ~Pinger();

  void start();
  /// Breaks off what it does; `stopped()` once it has come to an end.
  void stop();
  bool stopped() const { return !running_ && pool_.unused(); }

 private:
  Task<void> run();
  Task<void> ping();

  Loop& loop_;
  std::shared_ptr<Agent> agent_;
  PingSettings settings_;
  Pool pool_;
  Stop* waiting_ = nullptr;
  bool running_ = false;
  bool stopping_ = false;
};

}  // namespace karmad
