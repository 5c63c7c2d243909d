#include "balancer/topology/former_shard.hpp"

#include <algorithm>
#include <utility>

namespace karmad {

FormerShard former_shard(std::shared_ptr<const Shard> before, const Agents& agents,
                         const ShardSettings& settings) {
  FormerShard former{std::move(before), FormerPlaces(agents.size())};
  const auto& set = *former.shard->mirrors;
  for (std::size_t now = 0; now < agents.size(); ++now)
    for (std::size_t then = 0; then < set.size(); ++then)
      if (set[then].agent == agents[now] && set[then].tables == settings.mirrors[now].tables)
        former.places[now] = then;
  return former;
}

FormerShard former_shard(const Table* before, const Agents& agents, const ShardSettings& settings) {
  FormerShard best{nullptr, FormerPlaces(agents.size())};
  if (before == nullptr) return best;
  const auto in_common = [](const FormerShard& former) {
    return std::ranges::count_if(former.places,
                                 [](const auto& place) { return place.has_value(); });
  };
  for (const auto& shard : before->shards)
    if (auto next = former_shard(shard, agents, settings); in_common(next) > in_common(best))
      best = std::move(next);
  return best;
}

}  // namespace karmad
