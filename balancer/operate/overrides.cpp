#include "balancer/operate/overrides.hpp"

#include <fmt/format.h>

#include "agent/transport/http/http_syntax.hpp"
#include "config/agent_line.hpp"
#include "config/settings/words.hpp"

namespace karmad {
namespace {

/// The place of a value that the operator set.
Place at_run_time() {
  return {.file = "changed at run time", .line = 1};
}

bool is_called(const TableSettings& table, std::string_view name) {
  return wire::same_word(table.name, name);
}

template <class Found>
void for_each_mirror(auto& settings, const MirrorName& name, Found found) {
  for (auto& table : settings.tables)
    if (is_called(table, name.table))
      for (auto& shard : table.shards)
        for (auto& mirror : shard.mirrors)
          if (text(mirror.address) == name.address) found(table, mirror);
}

void override_table(TableSettings& table, const TableOverride& by) {
  if (by.strategy) {
    table.ha_strategy = {*by.strategy, at_run_time()};
    for (auto& shard : table.shards) shard.ha_strategy = table.ha_strategy;
  }
  if (by.hedging == false) table.hedge = {"off", at_run_time()};
}

}  // namespace

std::string configured_text(const Settings& settings, const MirrorName& name) {
  std::string all;
  for_each_mirror(settings, name, [&](const TableSettings& table, const MirrorSettings& mirror) {
    all += text(mirror, table) + '\n';
  });
  return all;
}

std::string configured_text(const TableSettings& table) {
  std::string all = fmt::format("hedge = {}\n", table.hedge.value);
  for (const auto& shard : table.shards)
    all += fmt::format("ha_strategy = {}\n", shard.ha_strategy ? shard.ha_strategy->value : "");
  return all;
}

Settings with_overrides(Settings settings, const Overrides& overrides) {
  for (const auto& [name, by] : overrides.mirrors)
    for_each_mirror(settings, name, [&](const TableSettings&, MirrorSettings& mirror) {
      if (by.state) mirror.state = {*by.state, at_run_time()};
      if (by.weight) mirror.weight = {*by.weight, at_run_time()};
    });
  for (const auto& [name, by] : overrides.tables)
    for (auto& table : settings.tables)
      if (is_called(table, name)) override_table(table, by);
  if (overrides.hedging) settings.searchd.hedge_disabled = {!*overrides.hedging, at_run_time()};
  if (overrides.log_level) settings.searchd.log_level = {*overrides.log_level, at_run_time()};
  return settings;
}

std::vector<std::string> forget_reconfigured(Overrides& overrides, const Settings& configured) {
  std::vector<std::string> forgotten;
  std::erase_if(overrides.mirrors, [&](const auto& entry) {
    const auto& [name, by] = entry;
    const auto now = configured_text(configured, name);
    if (now.empty() || now == by.configured) return false;
    forgotten.push_back(fmt::format("{} of table {}", name.address, name.table));
    return true;
  });
  std::erase_if(overrides.tables, [&](const auto& entry) {
    const auto& [name, by] = entry;
    for (const auto& table : configured.tables)
      if (is_called(table, name) && configured_text(table) != by.configured) {
        forgotten.push_back(fmt::format("table {}", name));
        return true;
      }
    return false;
  });
  return forgotten;
}

}  // namespace karmad
