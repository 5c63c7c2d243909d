#include "balancer/status/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace karmad {

SetCount count_of(const ShardStatus& shard) {
  SetCount count;
  for (const auto& mirror : shard.mirrors) count.add(mirror.report.condition);
  return count;
}

namespace {

const MirrorStatus& worst_of(const ShardStatus& shard) {
  return *std::ranges::max_element(shard.mirrors, {}, [](const MirrorStatus& mirror) {
    return std::pair(is_trouble(mirror.report.condition), mirror.report.condition);
  });
}

}  // namespace

std::string diagnosis(const Snapshot& snapshot, const ShardStatus& shard) {
  if (shard.mirrors.empty()) return "has no mirrors";
  const auto& worst = worst_of(shard);
  const auto about = diagnosis(snapshot.agents[worst.agent].address, worst.report);
  const auto count = count_of(shard);
  if (count.can_serve > 0 && worst.report.condition <= MirrorCondition::ready) return text(count);
  return fmt::format("{}: {}", text(count), about);
}

std::string verdict(const Snapshot& snapshot) {
  std::string worst_text;
  std::string of_table;
  std::pair<bool, MirrorCondition> worst{};
  std::size_t troubles = 0;
  for (const auto& table : snapshot.tables) {
    if (of_table.empty() && !table.trouble.empty())
      of_table = fmt::format("table {}: {}", table.name, table.trouble);
    for (std::size_t s = 0; s < table.shards.size(); ++s) {
      const auto& shard = table.shards[s];
      if (shard.mirrors.empty()) continue;
      troubles += static_cast<std::size_t>(std::ranges::count_if(
          shard.mirrors,
          [](const MirrorStatus& mirror) { return is_trouble(mirror.report.condition); }));
      const std::pair rank{count_of(shard).can_serve == 0, worst_of(shard).report.condition};
      if ((!rank.first && !is_trouble(rank.second)) || (!worst_text.empty() && rank <= worst))
        continue;
      worst = rank;
      worst_text =
          fmt::format("table {}, shard {}: {}", table.name, s + 1, diagnosis(snapshot, shard));
    }
  }
  if (!worst.first && !of_table.empty())
    worst_text = of_table + (worst_text.empty() ? "" : "; ") + worst_text;
  if (worst_text.empty()) return "all well";
  if (troubles > 1) worst_text += fmt::format(" ({} mirrors are in trouble in all)", troubles);
  return worst_text;
}

}  // namespace karmad
