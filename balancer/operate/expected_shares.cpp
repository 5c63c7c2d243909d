#include "balancer/operate/expected_shares.hpp"

#include "balancer/topology/topology.hpp"

namespace karmad {

std::vector<ExpectedShare> expected_shares(const Settings& settings) {
  AgentRegistry agents(1, settings.searchd.ha_period_karma.value);
  const Loops none;
  Problems problems;
  const auto topology =
      Topology::build(settings, {.registry = agents, .loops = none}, nullptr, problems);
  std::vector<ExpectedShare> all;
  if (!topology) return all;
  topology->apply_limits(TimePoint{});
  for (const auto& table : topology->tables)
    for (std::size_t s = 0; s < table->shards.size(); ++s) {
      const auto& set = *table->shards[s]->mirrors;
      const auto shares = set.shares({.excluded = set.out_of_service().all()}, 0);
      for (std::size_t i = 0; i < set.size(); ++i)
        all.push_back({table->name, s + 1, set[i].agent->name, shares[i]});
    }
  return all;
}

}  // namespace karmad
