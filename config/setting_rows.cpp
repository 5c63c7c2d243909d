#include "config/setting_rows.hpp"

#include <fmt/format.h>

#include "config/agent_line.hpp"
#include "config/settings/inherit.hpp"
#include "config/settings/values.hpp"

namespace karmad {
namespace {

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
  void row(const Key<Owner>& key, std::string value, const Place& at) {
    rows_.push_back({.key = key.name, .value = std::move(value), .at = at});
  }
  void unset(const Key<Owner>& key) {
    rows_.push_back({.key = key.name, .is_set = false, .unset = key.unset});
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

  template <class T>
  void add(Located<T> Owner::*field, const Key<Owner>& key) {
    const auto& setting = owner_.*field;
    if (key.inherited && !is_own(setting, above_.*field)) return unset(key);
    auto value = value_text(setting.value, key.bounds);
    if (value.empty() && setting.at.line == 0) return unset(key);
    row(key, std::move(value), setting.at);
  }

  template <class T>
  void add(std::optional<Located<T>> Owner::*field, const Key<Owner>& key) {
    const auto& setting = owner_.*field;
    if (!setting || (key.inherited && !is_own(setting, above_.*field))) return unset(key);
    row(key, value_text(setting->value, key.bounds), setting->at);
  }

  const Owner& owner_;
  const Owner& above_;
  std::vector<SettingRow> rows_;
};

}  // namespace

std::vector<SettingRow> setting_rows(const InstanceSettings& searchd) {
  return RowMaker<InstanceSettings>(searchd, {}).run(searchd_keys());
}

std::vector<SettingRow> setting_rows(const TableSettings& table, const InstanceSettings& searchd) {
  return RowMaker<TableSettings>(table, empty_table(searchd)).run(table_keys());
}

}  // namespace karmad
