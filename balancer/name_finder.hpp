#pragma once

#include <list>
#include <memory>

#include "balancer/topology/topology.hpp"

namespace karmad {

/// Looks up the names of all agents at the same time and waits up to half a second. Names without
/// an address by then are logged, and connections to them fail at once until a NameFinder resolves
/// them. Called at the start, before any worker runs.
void look_up_names(const Topology& topology);

/// Looks up unresolved names of agents repeatedly in the background until they resolve. Its loop's
/// thread only.
class NameFinder {
 public:
  explicit NameFinder(Loop& loop) : loop_(loop) {}

  /// Looks up the unresolved names of this topology's agents, and stops all other look-ups.
  void adopt(const Topology& topology);
  /// Stops all look-ups, for good.
  void stop();

 private:
  struct Search {
    Search(std::shared_ptr<Agent> of, Loop& loop) : agent(std::move(of)), stop(loop) {}
    const std::shared_ptr<Agent> agent;
    Stop stop;
  };
  using Place = std::list<Search>::iterator;
  Task<void> find(Place search);

  Loop& loop_;
  std::list<Search> searches_;
  bool stopped_ = false;
};

}  // namespace karmad
