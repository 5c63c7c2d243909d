#include "balancer/operate/overrides.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <rapidjson/document.h>
#include <rapidjson/error/en.h>

#include <set>

#include "agent/json/json_tree.hpp"
#include "agent/stats/document.hpp"
#include "config/agent_line.hpp"
#include "config/settings/words.hpp"

// The state file: {"version":1,"mirrors":[{"table","address","state","configured_state","weight",
// "configured_weight"}],"tables":[{"table","strategy","configured_strategy","hedging",
// "configured_hedge"}],"hedging":true,"configured_hedging":"true","log_level":"info",
// "configured_log_level":"info"}. Members that were not changed are
// missing. "found" is what sources and names said last (last_found_json()).

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
          if (text(mirror.address) == name.address) found(mirror);
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

constexpr unsigned kVersion = 1;
constexpr std::size_t kLongestState = 16 << 20;

using Json = rapidjson::Value;

/// Writes what was changed, and what it was configured to be.
template <class T>
void put(Document& out, std::string_view name, std::string_view configured,
         const std::optional<Override<T>>& by) {
  if (!by) return;
  if constexpr (std::is_enum_v<T>)
    out.text(name, word(by->value));
  else if constexpr (std::is_same_v<T, std::string>)
    out.text(name, by->value);
  else
    out.value(name, by->value);
  if (by->configured) out.text(configured, *by->configured);
}

/// Reads the file's members; the first mistake ends it.
class OverridesReader {
 public:
  std::expected<Overrides, std::string> run(std::string_view json) {
    if (json.size() > kLongestState) return std::unexpected("it is larger than 16 MB");
    const auto document = tree_of(json);
    if (document.HasParseError())
      return std::unexpected(fmt::format("not JSON at byte {}: {}", document.GetErrorOffset(),
                                         rapidjson::GetParseError_En(document.GetParseError())));
    const auto* version = member_of(&document, "version");
    if (version == nullptr || !version->IsUint() || version->GetUint() != kVersion)
      return std::unexpected(fmt::format("its version is not {}", kVersion));
    Overrides overrides;
    each(document, "mirrors", [&](const Json& item) {
      const MirrorName name{required(item, "table"), required(item, "address")};
      auto& by = overrides.mirrors[name] = {};
      read(item, "state", "configured_state", by.state);
      read(item, "weight", "configured_weight", by.weight);
    });
    each(document, "tables", [&](const Json& item) {
      auto& by = overrides.tables[required(item, "table")] = {};
      if (!text_member(item, "strategy").empty())
        read(item, "strategy", "configured_strategy", by.strategy);
      read(item, "hedging", "configured_hedge", by.hedging);
    });
    read(document, "hedging", "configured_hedging", overrides.hedging);
    read(document, "log_level", "configured_log_level", overrides.log_level);
    if (overrides.size() > kMostOverrides) wrong_ = "it has too many entries";
    if (!wrong_.empty()) return std::unexpected(wrong_);
    return overrides;
  }

 private:
  template <class Use>
  void each(const Json& document, std::string_view name, Use use) {
    const auto* list = member_of(&document, name);
    if (list == nullptr) return;
    if (!list->IsArray()) return mistake(name);
    for (const auto& item : list->GetArray()) use(item);
  }

  /// A member, if it is there, and what it was configured to be.
  template <class T>
  void read(const Json& item, std::string_view name, std::string_view configured,
            std::optional<Override<T>>& into) {
    const auto* value = member_of(&item, name);
    if (value == nullptr) return;
    const auto known = value_in<T>(*value);
    if (!known) return mistake(name);
    into = Override<T>{.value = *known};
    if (const auto text = text_member(item, configured); !text.empty()) into->configured = text;
  }

  template <class T>
  static std::optional<T> value_in(const Json& value) {
    if constexpr (std::is_enum_v<T>) {
      return kWords<T>.find(text_of(&value));
    } else if constexpr (std::is_same_v<T, std::string>) {
      return std::string(text_of(&value));
    } else if constexpr (std::is_same_v<T, bool>) {
      return value.IsBool() ? std::optional(value.GetBool()) : std::nullopt;
    } else {
      const bool fits = value.IsUint() && value.GetUint() <= kMostWeight;
      return fits ? std::optional(value.GetUint()) : std::nullopt;
    }
  }

  void mistake(std::string_view name) {
    if (wrong_.empty()) wrong_ = fmt::format("the member {} is missing or not as expected", name);
  }

  std::string required(const Json& item, std::string_view name) {
    const auto text = text_member(item, name);
    if (text.empty()) mistake(name);
    return std::string(text);
  }

  std::string wrong_;
};

}  // namespace

std::string configured_state(const Settings& settings, const MirrorName& name) {
  std::set<std::string> texts;
  for_each_mirror(settings, name,
                  [&](const MirrorSettings& mirror) { texts.emplace(word(mirror.state.value)); });
  return distinct(texts);
}

std::string configured_weight(const Settings& settings, const MirrorName& name) {
  std::set<std::string> texts;
  for_each_mirror(settings, name, [&](const MirrorSettings& mirror) {
    texts.insert(std::to_string(mirror.weight.value));
  });
  return distinct(texts);
}

std::string configured_strategy(const TableSettings& table) {
  std::set<std::string> texts;
  const auto add = [&](const auto& strategy) {
    texts.insert(strategy ? strategy->value : "default");
  };
  if (table.discovery) add(table.ha_strategy);  // that of shards that its source adds and removes
  for (const auto& shard : table.shards) add(shard.ha_strategy);
  return distinct(texts);
}

std::string configured_hedging(const Settings& settings) {
  return settings.searchd.hedge_disabled.value ? "false" : "true";
}

std::string configured_log_level(const Settings& settings) {
  return std::string(word(settings.searchd.log_level.value));
}

Settings with_overrides(Settings settings, const Overrides& overrides) {
  for (const auto& [name, by] : overrides.mirrors)
    for_each_mirror(settings, name, [&](MirrorSettings& mirror) {
      if (by.state) mirror.state = {by.state->value, at_run_time()};
      if (by.weight) mirror.weight = {by.weight->value, at_run_time()};
    });
  for (const auto& [name, by] : overrides.tables)
    for (auto& table : settings.tables)
      if (is_called(table, name)) override_table(table, by);
  auto& searchd = settings.searchd;
  if (overrides.hedging) searchd.hedge_disabled = {!overrides.hedging->value, at_run_time()};
  if (overrides.log_level) searchd.log_level = {overrides.log_level->value, at_run_time()};
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
  if (was_reconfigured(overrides.hedging, configured_hedging(configured)))
    forgotten.emplace_back("the hedging of the process");
  if (was_reconfigured(overrides.log_level, configured_log_level(configured)))
    forgotten.emplace_back("log_level");
  std::erase_if(overrides.mirrors,
                [](const auto& entry) { return !entry.second.state && !entry.second.weight; });
  std::erase_if(overrides.tables,
                [](const auto& entry) { return !entry.second.strategy && !entry.second.hedging; });
  return forgotten;
}

std::string overrides_json(const Overrides& overrides, std::string_view found) {
  return json_object([&](Document& out) {
    out.value("version", kVersion);
    out.objects("mirrors", overrides.mirrors, [&](const auto& entry) {
      const auto& [name, by] = entry;
      out.text("table", name.table);
      out.text("address", name.address);
      put(out, "state", "configured_state", by.state);
      put(out, "weight", "configured_weight", by.weight);
    });
    out.objects("tables", overrides.tables, [&](const auto& entry) {
      const auto& [name, by] = entry;
      out.text("table", name);
      put(out, "strategy", "configured_strategy", by.strategy);
      put(out, "hedging", "configured_hedge", by.hedging);
    });
    put(out, "hedging", "configured_hedging", overrides.hedging);
    put(out, "log_level", "configured_log_level", overrides.log_level);
    if (!found.empty()) out.raw("found", found);
  });
}

std::expected<Overrides, std::string> parse_overrides(std::string_view json) {
  return OverridesReader().run(json);
}

}  // namespace karmad
