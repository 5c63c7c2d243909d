#pragma once

#include <list>
#include <memory>

#include "balancer/topology/topology.hpp"

namespace karmad {

/// Looks the names of agents up, all at once, and waits for a moment: mostly they are all known
/// then. Those that are not are logged, and connections to them fail at once until a NameFinder
/// finds them. For the start, before any worker runs.
void look_up_names(const Topology& topology);

/// Looks names of agents up in the background, again and again, until they lead somewhere. Belongs
/// to the thread of its loop.
class NameFinder {
 public:
  explicit NameFinder(Loop& loop) : loop_(loop) {}

  /// Looks for the agents of this topology whose names are not known, and for no others.
  void adopt(const Topology& topology);
  /// Ends all look-ups, also those to come.
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
