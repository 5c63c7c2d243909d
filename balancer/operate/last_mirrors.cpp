#include "balancer/operate/last_mirrors.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>

namespace karmad {

std::vector<std::string> shards_without_mirrors(
    const Settings& before, const Settings& after,
    const std::function<bool(const std::string& address)>& works) {
  const auto is_ready = [](const MirrorSettings& mirror) {
    return mirror.state.value == ServiceState::ready;
  };
  const auto serves = [&](const MirrorSettings& mirror) {
    return is_ready(mirror) && works(text(mirror.address));
  };
  std::vector<std::string> shards;
  for (std::size_t t = 0; t < before.tables.size(); ++t)
    for (std::size_t s = 0; s < before.tables[t].shards.size(); ++s) {
      const auto& had = before.tables[t].shards[s].mirrors;
      const auto& has = after.tables[t].shards[s].mirrors;
      const auto loses = [&](auto counts) {
        return std::ranges::any_of(had, counts) && std::ranges::none_of(has, counts);
      };
      if (loses(is_ready) || loses(serves))
        shards.push_back(fmt::format("table {}, shard {}", before.tables[t].name, s + 1));
    }
  return shards;
}

std::string last_mirror_text(const std::vector<std::string>& shards) {
  constexpr std::size_t kNamed = 8;
  const auto named = std::span(shards).first(std::min(shards.size(), kNamed));
  return fmt::format(
      "no mirror that can serve searches would be left: {}{}; nothing was changed; with force "
      "(\"force\":true, karmad ctl --force) it is done nevertheless",
      fmt::join(named, "; "),
      shards.size() > kNamed ? fmt::format(" and {} more", shards.size() - kNamed) : "");
}

}  // namespace karmad
