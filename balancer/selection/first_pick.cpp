#include "balancer/selection/first_pick.hpp"

#include "balancer/selection/mirror_choice.hpp"
#include "balancer/selection/set_mirrors.hpp"
#include "balancer/selection/shard_query.hpp"

namespace karmad {
namespace {

/// The criteria of the choice of a line of attempts that starts now.
SelectionCriteria first_choice(const PickSubject& of, std::optional<std::uint64_t> min_generation,
                               SelectionCriteria (MirrorChoice::*criteria)() const) {
  auto& worker = of.worker;
  SetMirrors mirrors(*of.shard.mirrors, of.topology.settings, worker.loop.index);
  ShardRules rules;
  fill_search_rules(of.topology, of.table, of.shard, of.selection, rules);
  rules.min_generation = min_generation;
  const ChainLearned line;
  const ShardInputs moment{.now = Loop::now(),
                           .random = worker.loop.random,
                           .protection = *of.shard.protection,
                           .mirrors = mirrors,
                           .counters = worker.counters};
  return (MirrorChoice(rules, line, moment).*criteria)();
}

}  // namespace

SelectionCriteria first_pick_criteria(const PickSubject& of,
                                      std::optional<std::uint64_t> min_generation) {
  return first_choice(of, min_generation, &MirrorChoice::criteria_now);
}

std::vector<double> first_pick_shares(const PickSubject& of) {
  const auto& set = *of.shard.mirrors;
  auto criteria = first_pick_criteria(of);
  if (set.acceptable(criteria, of.worker.loop.index).empty())
    criteria = first_choice(of, {}, &MirrorChoice::criteria);
  return set.shares(criteria, of.worker.loop.index);
}

}  // namespace karmad
