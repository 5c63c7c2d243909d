#include "config/effective.hpp"

#include <fmt/format.h>

#include <map>

#include "config/agent_line.hpp"
#include "config/setting_rows.hpp"

namespace karmad {
namespace {

class EffectiveList {
 public:
  void add(std::string name, std::string value, const Place& at) {
    // A list, or a mirror twice in a line, gives a name more than once.
    if (const auto again = ++seen_[name]; again > 1) name += fmt::format(" ({})", again);
    all_.push_back({std::move(name), std::move(value), text(at)});
  }

  void add_rows(const std::string& of, const std::vector<SettingRow>& rows) {
    for (const auto& row : rows)
      if (row.is_set && row.key != "agent" && row.key != "agent_blackhole")
        add(fmt::format("{}: {}", of, row.key), row.value, row.at);
  }

  void add_shard(const std::string& name, const ShardSettings& shard, const TableSettings& table) {
    add(name, line_options_text(shard, table), shard.at);
    for (const auto& mirror : shard.mirrors)
      add(fmt::format("{}: mirror {}", name, text(mirror.address)), text(mirror, table), mirror.at);
  }

  std::vector<EffectiveSetting> take() { return std::move(all_); }

 private:
  std::vector<EffectiveSetting> all_;
  std::map<std::string, unsigned> seen_;
};

std::string side(const std::optional<EffectiveSetting>& setting) {
  if (!setting) return "none";
  return fmt::format("{} ({})", setting->value.empty() ? "-" : setting->value, setting->source);
}

}  // namespace

std::vector<EffectiveSetting> effective_settings(const Settings& settings) {
  EffectiveList list;
  list.add_rows("searchd", setting_rows(settings.searchd));
  for (const auto& table : settings.tables) {
    const auto name = "table " + table.name;
    list.add_rows(name, setting_rows(table, settings.searchd));
    for (std::size_t s = 0; s < table.shards.size(); ++s)
      list.add_shard(fmt::format("{}: shard {}", name, s + 1), table.shards[s], table);
    for (std::size_t b = 0; b < table.blackholes.size(); ++b)
      list.add_shard(fmt::format("{}: blackhole {}", name, b + 1), table.blackholes[b], table);
  }
  return list.take();
}

std::vector<SettingChange> difference(const std::vector<EffectiveSetting>& before,
                                      const std::vector<EffectiveSetting>& after) {
  std::map<std::string, const EffectiveSetting*> then;
  std::map<std::string, const EffectiveSetting*> now;
  for (const auto& setting : before) then.emplace(setting.name, &setting);
  for (const auto& setting : after) now.emplace(setting.name, &setting);
  std::vector<SettingChange> changes;
  for (const auto& setting : before) {
    const auto found = now.find(setting.name);
    if (found == now.end())
      changes.push_back({setting.name, setting, std::nullopt});
    else if (found->second->value != setting.value)
      changes.push_back({setting.name, setting, *found->second});
  }
  for (const auto& setting : after)
    if (!then.contains(setting.name)) changes.push_back({setting.name, std::nullopt, setting});
  return changes;
}

std::string text(const SettingChange& change) {
  return fmt::format("{}: {} -> {}", change.name, side(change.before), side(change.after));
}

}  // namespace karmad
