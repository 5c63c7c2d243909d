#include "balancer/topology/topology.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cassert>

#include "agent/transport/http/http_syntax.hpp"

namespace karmad {

std::shared_ptr<Agent> AgentRegistry::at(const Address& address) {
  const auto known = agents_.find(address);
  if (known != agents_.end())
    if (auto agent = known->second.lock()) return agent;
  if (agents_.size() >= sweep_at_) {  // mirrors that were discovered come and go
    std::erase_if(agents_, [](const auto& each) { return each.second.expired(); });
    sweep_at_ = std::max<std::size_t>(64, 2 * agents_.size());
  }
  auto agent = std::make_shared<Agent>(address, next_id_++, workers_, period_, dns_);
  agents_[address] = agent;
  return agent;
}

void Topology::apply_limits(TimePoint now) const {
  const auto& kept = settings.persistent_connections_limit;
  ConnectionBounds bounds{.connections = settings.agent_max_connections.value,
                          .connecting = settings.agent_max_connecting.value};
  if (kept) bounds.kept = kept->value;
  for (const auto& agent : agents) {
    agent->connections.change(bounds);
    agent->copies.change(bounds);
    const auto found = slots.find(agent.get());
    agent->slots.rules(found == slots.end() ? AgentSlotRules() : found->second);
  }
  for (const auto& table : tables)
    for (const auto& shard : table->shards) shard->mirrors->read_limits();
  for (const auto& [set, service] : services) set->serve(service, now);
}

bool Topology::NameLess::operator()(std::string_view a, std::string_view b) const {
  if (a == b) return false;  // most names have the same case
  return std::ranges::lexicographical_compare(
      a, b, [](char x, char y) { return wire::lower(x) < wire::lower(y); });
}

void Topology::take_over() const {
  for (const auto& table : tables)
    for (const auto& shard : table->shards) shard->mirrors->take_over();
}

const Table* Topology::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

std::string Topology::unknown(std::string_view name) const {
  std::vector<std::string_view> names;
  for (const auto& table : tables) names.push_back(table->name);
  return unknown_table(name, names);
}

std::string unknown_table(std::string_view name, std::span<const std::string_view> known) {
  constexpr std::size_t kMost = 20;
  const auto shown = known.first(std::min(known.size(), kMost));
  const auto more = known.size() - shown.size();
  return fmt::format("no table '{}'; the tables are: {}{}", name, fmt::join(shown, ", "),
                     more > 0 ? fmt::format(" and {} more", more) : "");
}

const Table* Topology::route(std::string_view path) const {
  for (const auto* table : routes_)
    if (route_covers(table->route, path)) return table;
  return nullptr;
}

void Topology::add_endpoints(Dialects dialects, const DialectSettings& with) {
  for (const auto* kind : dialects)
    for (const auto& endpoint : kind->endpoints) {
      assert(endpoint_at(endpoint.path) == nullptr && "two dialects with the same path");
      endpoints_.push_back({*kind, endpoint, endpoint.make(with)});
    }
}

const ServedPath* Topology::endpoint_at(std::string_view path) const {
  const auto found = std::ranges::find(endpoints_, path,
                                       [](const ServedPath& each) { return each.endpoint.path; });
  return found == endpoints_.end() ? nullptr : &*found;
}

}  // namespace karmad
