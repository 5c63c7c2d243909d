#include "config/effective.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "config/agent_line.hpp"
#include "config/settings/attempts.hpp"
#include "config/settings/inherit.hpp"
#include "config/settings/values.hpp"

namespace karmad {
namespace {

/// One setting as it would be written in a configuration.
struct SettingRow {
  std::string_view key;
  std::string value;  ///< nothing is escaped
  Place at;
  bool is_set = true;  ///< false: `unset` tells what is used instead
  std::string unset;   ///< as in KeyDoc
};

template <class Owner>
class RowMaker {
 public:
  /// `above`: an owner with inherited values only.
  RowMaker(const Owner& owner, const Owner& above) : owner_(owner), above_(above) {}

  std::vector<SettingRow> run(std::span<const Key<Owner>> keys) {
    for (const auto& key : keys)
      if (key.alias_of.empty()) std::visit([&](const auto field) { add(field, key); }, key.field);
    return std::move(rows_);
  }

 private:
  void row(const Key<Owner>& key, std::string_view value, const Place& at) {
    rows_.push_back({.key = key.name, .value = std::string(value), .at = at});
  }
  void unset(const Key<Owner>& key) {
    rows_.push_back({.key = key.name, .is_set = false, .unset = doc_of(key).unset});
  }

  void add(std::monostate, const Key<Owner>& key) {
    row(key, "distributed", {});  // the only key without a field
  }

  void add(std::vector<Listen> Owner::*field, const Key<Owner>& key) {
    for (const auto& listen : owner_.*field) row(key, text(listen), listen.at);
  }

  /// Shards of agent and agent_persistent are in one list: `agent` has all of them in order.
  void add(std::vector<ShardSettings> Owner::*field, const Key<Owner>& key) {
    if (key.name == "agent_persistent") return;
    if constexpr (std::is_same_v<Owner, TableSettings>)
      for (const auto& shard : owner_.*field) row(key, text(shard, owner_), shard.at);
  }

  void add(std::vector<std::string> Owner::*field, const Key<Owner>& key) {
    if constexpr (std::is_same_v<Owner, TableSettings>) {
      if (!(owner_.*field).empty())
        row(key, fmt::format("{}", fmt::join(owner_.*field, ", ")), owner_.reads_at);
    }
  }

  template <Setting Value>
  void add(Value Owner::*field, const Key<Owner>& key) {
    const auto* const setting = if_set(owner_.*field);
    const bool counts = !key.inherited || is_own(owner_.*field, above_.*field);
    if (setting == nullptr || !counts) return unset(key);
    const auto value = value_text(setting->value, key.bounds);
    if (value.empty() && setting->at.line == 0) return unset(key);
    row(key, value, setting->at);
  }

  const Owner& owner_;
  const Owner& above_;
  std::vector<SettingRow> rows_;
};

/// The settings of `searchd`, and those of a table that it does not inherit, in the order of the
/// table of keys. A list gives one row for each element.
std::vector<SettingRow> setting_rows(const InstanceSettings& searchd) {
  return RowMaker<InstanceSettings>(searchd, {}).run(searchd_keys());
}

std::vector<SettingRow> setting_rows(const TableSettings& table, const InstanceSettings& searchd) {
  return RowMaker<TableSettings>(table, empty_table(searchd)).run(table_keys());
}

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

/// Escapes characters that are syntax.
std::string escaped(std::string_view value) {
  std::string out;
  for (const char c : value) {
    if (c == '#' || c == '{' || c == '}' || c == '$') out += '\\';
    out += c;
  }
  return out;
}

void dump(const std::vector<SettingRow>& rows, std::string& out) {
  for (const auto& row : rows) {
    if (!row.is_set)
      out += fmt::format("  # {} is unset: {}\n", row.key, row.unset);
    else if (row.key == "type")  // has no place: a table without it is not read
      out += fmt::format("  {} = {}\n", row.key, row.value);
    else
      out += fmt::format("  {} = {}  # {}\n", row.key, escaped(row.value), text(row.at));
  }
}

/// What the counts of retries come to, as `max_attempts` leaves them.
void dump_attempts(const RepeatSettings& searchd, const TableSettings& table,
                   const ShardSettings& shard, std::string& out) {
  const auto counts = retry_counts(searchd, table, shard);
  const auto most = most_attempts(
      table.max_attempts ? std::optional(table.max_attempts->value) : std::nullopt, counts);
  const auto left = [&](unsigned count) { return std::min(count, most - 1); };
  out += fmt::format(
      "  # at most {} attempts of a request at the shard in {}; retries: {} ordinary, {} after "
      "overload, {} after a delay, {} after timeouts\n",
      most, text(shard.at), left(counts.ordinary), left(counts.overload), left(counts.throttled),
      left(counts.timeouts));
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

std::string dump(const Settings& settings) {
  std::string out = "searchd {\n";
  dump(setting_rows(settings.searchd), out);
  out += "}\n";
  for (const auto& table : settings.tables) {
    out += fmt::format("\ntable {} {{  # {}\n", table.name, text(table.at));
    dump(setting_rows(table, settings.searchd), out);
    for (const auto& shard : table.shards) dump_attempts(settings.searchd, table, shard, out);
    out += "}\n";
  }
  return out;
}

}  // namespace karmad
