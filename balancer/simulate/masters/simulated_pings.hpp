#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "agent/mirrors/ping_schedule.hpp"
#include "balancer/simulate/masters/simulated_master.hpp"
#include "balancer/simulate/world/world.hpp"

namespace karmad {

/// The pings of all simulated masters: the schedule and the consequences are those of the server.
class SimulatedPings {
 public:
  explicit SimulatedPings(SimulatedWorld& world) : world_(world) {}

  /// Pings the mirrors of a set, if its table is pinged.
  void add(SimulatedMaster& master, SimulatedSet& set);
  void start();
  /// Returns the set that a result was reported to; null: there was no result.
  SimulatedSet* handle(const SimulatedEvent& event);

 private:
  class Pinger;
  SimulatedWorld& world_;
  std::vector<std::shared_ptr<Pinger>> pingers_;
};

}  // namespace karmad
