#include "balancer/simulate/masters/simulated_master.hpp"

#include <algorithm>
#include <cassert>

#include "balancer/selection/shard_query.hpp"
#include "balancer/topology/outlier_signs.hpp"

namespace karmad {
namespace {

constexpr std::uint32_t kMostRequests = 1u << 30;

std::shared_ptr<const Topology> topology_of(const Settings& settings, AgentRegistry& registry,
                                            const Loops& loops) {
  Problems problems;
  auto topology =
      Topology::build(settings, {.registry = registry, .loops = loops}, nullptr, problems);
  assert(topology != nullptr);
  topology->apply_limits(TimePoint{});
  return topology;
}

}  // namespace

SimulatedSet::SimulatedSet(const Topology& topology, const Table& of, unsigned first,
                           std::atomic<std::uint32_t>& waiting_selections)
    : SetMirrors(*of.shards.front()->mirrors, topology.settings, 0),
      table(of),
      shard(*of.shards.front()),
      first_mirror(first),
      selection(std::nullopt, of, topology.settings, SelectionClass::may_use_secondary),
      tracks_state(selection.at(shard) != nullptr),
      connections(set_.size()) {
  fill_search_rules(topology, table, shard, selection, rules);
  rules.waiting_selections = &waiting_selections;
}

bool SimulatedSet::try_take_slot(std::size_t mirror) {
  auto slot = set_[mirror].agent->slots.try_take();
  if (slot) slots.emplace_back(mirror, *std::move(slot));
  return slot.has_value();
}

AgentSlot SimulatedSet::use_slot(std::size_t mirror) {
  const auto taken = std::ranges::find(slots, mirror, &std::pair<std::size_t, AgentSlot>::first);
  assert(taken != slots.end());
  auto slot = std::move(taken->second);
  slots.erase(taken);
  return slot;
}

SimulatedMaster::SimulatedMaster(const Settings& settings, const SetLayout& layout,
                                 SeededRandom random, TimePoint now)
    : admission(1, loops_, kMostRequests, settings.searchd, now),
      random_(random),
      registry_(1, settings.searchd.ha_period_karma.value),
      topology_(topology_of(settings, registry_, loops_)),
      limits_searches_(admission.mode() == AdmissionMode::enforce &&
                       admission.searches.settings().limits()) {
  for (unsigned i = 0; i < layout.sets(); ++i)
    sets.push_back(std::make_unique<SimulatedSet>(*topology_, *topology_->tables[i],
                                                  layout.first(i), waiting_selections_));
}

void SimulatedMaster::upkeep(TimePoint now, MirrorWatch* watch) {
  for (const auto& agent : topology_->agents) agent->slots.refresh(now);
  for (const auto& set : sets) {
    set->mirrors().refresh(now);
    watch_outliers(set->shard, now, random_);
  }
  if (watch != nullptr) watch->sample(*topology_, now, WallTime{now.time_since_epoch()});
  if (limits_searches_) admission.sample(now);
}

}  // namespace karmad
