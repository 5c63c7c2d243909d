#pragma once

#include <boost/container/small_vector.hpp>
#include <memory>
#include <utility>
#include <vector>

#include "agent/mirrors/ping.hpp"
#include "balancer/admission/admission.hpp"
#include "balancer/selection/mirror_choice.hpp"
#include "balancer/selection/selection.hpp"
#include "balancer/selection/set_mirrors.hpp"
#include "balancer/simulate/scenario/scenario.hpp"
#include "balancer/simulate/world/fleet.hpp"
#include "balancer/simulate/world/world.hpp"
#include "balancer/topology/topology.hpp"
#include "balancer/watch/mirror_watch.hpp"

namespace karmad {

/// Names a request in the pool of requests.
struct RequestName {
  std::uint32_t index = 0;
  std::uint32_t version = 0;
};

/// The connections of one master to one mirror (`agent_max_connections`).
struct SimulatedConnections {
  unsigned in_use = 0;
  RingQueue<AttemptName> waiting;  ///< attempts without a connection, oldest first
};

/// A mirror set of a simulated master: the server's objects, and what its driver needs of them.
class SimulatedSet final : public SetMirrors {
 public:
  SimulatedSet(const Topology& topology, const Table& table, unsigned first_mirror,
               std::atomic<std::uint32_t>& waiting_selections);

  MirrorSet& mirrors() { return set_; }
  Mirror& mirror(std::size_t i) { return set_[i]; }
  /// Changes with every change of the set's state.
  const SetView* current_view() const { return set_.view(0).get(); }
  bool try_take_slot(std::size_t mirror) override;
  /// A slot that was taken for the next attempt.
  AgentSlot use_slot(std::size_t mirror);
  unsigned number_in_fleet(std::size_t mirror) const {
    return first_mirror + static_cast<unsigned>(mirror);
  }

  const Table& table;
  Shard& shard;
  const unsigned first_mirror;  ///< its number in the fleet
  const Selection selection;
  const bool tracks_state;  ///< requests tell the state machine of the set about errors
  ShardRules rules;         ///< of every request, without its deadline

  boost::container::small_vector<std::pair<std::size_t, AgentSlot>, 1> slots;
  std::vector<RequestName> waiting_for_news;  ///< versions are those of their waits
  std::vector<RequestName> waiting_for_slot;
  std::vector<SimulatedConnections> connections;  ///< of each mirror
};

/// A karmad without sockets: its topology, and what its workers share.
class SimulatedMaster {
 public:
  /// `settings` are correct; `random` is its only source of chance.
  SimulatedMaster(const Settings& settings, const SetLayout& layout, SeededRandom random,
                  TimePoint now);
  SimulatedMaster(const SimulatedMaster&) = delete;
  SimulatedMaster& operator=(const SimulatedMaster&) = delete;

  const InstanceSettings& settings() const { return topology_->settings; }
  ShardInputs moment(SimulatedSet& set, TimePoint now) {
    return {.now = now,
            .random = random_,
            .protection = *set.shard.protection,
            .mirrors = set,
            .counters = counters};
  }
  /// The periodic work of the server's worker 0. `watch`: of the mirrors; null: they are not
  /// watched.
  void upkeep(TimePoint now, MirrorWatch* watch);
  /// Whether searches need tickets.
  bool limits_searches() const { return limits_searches_; }

  Counters counters;
  std::vector<std::unique_ptr<SimulatedSet>> sets;

 private:
  const Loops loops_;  ///< empty: whatever is posted happens at once

 public:
  Admission admission;

 private:
  SeededRandom random_;
  AgentRegistry registry_;
  std::shared_ptr<const Topology> topology_;
  std::atomic<std::uint32_t> waiting_selections_{0};
  bool limits_searches_;
};

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
