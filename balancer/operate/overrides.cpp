#include "balancer/operate/overrides.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "agent/transport/http/http_syntax.hpp"
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
    table.ha_strategy = {by.strategy->value, at_run_time()};
    for (auto& shard : table.shards) shard.ha_strategy = table.ha_strategy;
  }
  if (by.hedging && !by.hedging->value) table.hedge = {"off", at_run_time()};
}

/// Each text once, in order.
std::string distinct(const std::set<std::string>& texts) {
  return fmt::format("{}", fmt::join(texts, " "));
}

template <class T>
bool was_reconfigured(std::optional<Override<T>>& by, const std::string& now) {
  if (!by || now.empty()) return false;
  if (!by->configured) by->configured = now;
  if (*by->configured == now) return false;
  by.reset();
  return true;
}

}  // namespace

std::string configured_state(const Settings& settings, const MirrorName& name) {
  std::set<std::string> texts;
  for_each_mirror(settings, name, [&](const TableSettings&, const MirrorSettings& mirror) {
    texts.emplace(word(mirror.state.value));
  });
  return distinct(texts);
}

std::string configured_weight(const Settings& settings, const MirrorName& name) {
  std::set<std::string> texts;
  for_each_mirror(settings, name, [&](const TableSettings&, const MirrorSettings& mirror) {
    texts.insert(std::to_string(mirror.weight.value));
  });
  return distinct(texts);
}

std::string configured_strategy(const TableSettings& table) {
  std::set<std::string> texts;
  for (const auto& shard : table.shards)
    texts.insert(shard.ha_strategy ? shard.ha_strategy->value : "default");
  return distinct(texts);
}

Settings with_overrides(Settings settings, const Overrides& overrides) {
  for (const auto& [name, by] : overrides.mirrors)
    for_each_mirror(settings, name, [&](const TableSettings&, MirrorSettings& mirror) {
      if (by.state) mirror.state = {by.state->value, at_run_time()};
      if (by.weight) mirror.weight = {by.weight->value, at_run_time()};
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
  for (auto& [name, by] : overrides.mirrors) {
    if (was_reconfigured(by.state, configured_state(configured, name)))
      forgotten.push_back(fmt::format("the state of {} of table {}", name.address, name.table));
    if (was_reconfigured(by.weight, configured_weight(configured, name)))
      forgotten.push_back(fmt::format("the weight of {} of table {}", name.address, name.table));
  }
  for (auto& [name, by] : overrides.tables)
    for (const auto& table : configured.tables) {
      if (!is_called(table, name)) continue;
      if (was_reconfigured(by.strategy, configured_strategy(table)))
        forgotten.push_back(fmt::format("the strategy of table {}", name));
      if (was_reconfigured(by.hedging, table.hedge.value))
        forgotten.push_back(fmt::format("the hedging of table {}", name));
    }
  std::erase_if(overrides.mirrors,
                [](const auto& entry) { return !entry.second.state && !entry.second.weight; });
  std::erase_if(overrides.tables,
                [](const auto& entry) { return !entry.second.strategy && !entry.second.hedging; });
  return forgotten;
}

}  // namespace karmad
