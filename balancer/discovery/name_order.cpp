#include "balancer/discovery/name_order.hpp"

#include <algorithm>
#include <limits>
#include <tuple>

#include "config/agent_options.hpp"

namespace karmad {

std::vector<NamedMirror> mirrors_at(std::vector<HostAddress> addresses) {
  std::ranges::sort(addresses);
  std::vector<NamedMirror> mirrors;
  for (const auto& address : addresses)
    mirrors.push_back(
        {.address = {.host = address.to_string(), .port = 0, .unix_path = {}}, .weight = {}});
  const auto twins = std::ranges::unique(mirrors);
  mirrors.erase(twins.begin(), twins.end());
  return mirrors;
}

std::vector<NamedMirror> mirrors_of(const std::vector<SrvTarget>& targets) {
  unsigned lowest = std::numeric_limits<unsigned>::max();
  for (const auto& target : targets)
    if (!target.addresses.empty()) lowest = std::min<unsigned>(lowest, target.priority);
  unsigned heaviest = 1;
  for (const auto& target : targets)
    if (target.priority == lowest) heaviest = std::max<unsigned>(heaviest, target.weight);
  const auto scaled = [&](unsigned weight) {
    return std::max(1U, heaviest > kMostWeight ? weight * kMostWeight / heaviest : weight);
  };

  struct FoundPlace {
    HostAddress address;
    unsigned port, weight;
  };
  std::vector<FoundPlace> places;
  for (const auto& target : targets)
    for (const auto& address : target.addresses)
      places.push_back(
          {address, target.port, target.priority == lowest ? scaled(target.weight) : 0});
  // Of an address that occurs twice the larger weight counts.
  std::ranges::sort(places, [](const FoundPlace& a, const FoundPlace& b) {
    return std::tie(a.address, a.port, b.weight) < std::tie(b.address, b.port, a.weight);
  });
  const auto twins = std::ranges::unique(places, [](const FoundPlace& a, const FoundPlace& b) {
    return a.address == b.address && a.port == b.port;
  });
  places.erase(twins.begin(), twins.end());
  std::vector<NamedMirror> mirrors;
  for (const auto& [address, port, weight] : places)
    mirrors.push_back({.address = {.host = address.to_string(),
                                   .port = static_cast<std::uint16_t>(port),
                                   .unix_path = {}},
                       .weight = weight});
  return mirrors;
}

}  // namespace karmad
