#pragma once

#include <memory>
#include <optional>

#include "balancer/simulate/world/world.hpp"

namespace karmad {

/// A request that reaches a master.
struct SimulatedArrival {
  TimePoint at{};
  unsigned master = 0;
  unsigned set = 0;
};

/// The requests of a simulation in order of time. They do not depend on the strategy.
class Arrivals {
 public:
  virtual ~Arrivals() = default;
  /// Empty: there are no more, or none before the end of the scenario.
  virtual std::optional<SimulatedArrival> next() = 0;
};

/// The recorded ones if the scenario replays an access log, otherwise a Poisson process.
std::unique_ptr<Arrivals> arrivals_of(const SimulatedWorld& world);

}  // namespace karmad
