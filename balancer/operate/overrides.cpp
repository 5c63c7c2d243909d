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

constexpr unsigned kVersion = 1;
constexpr std::size_t kLongestState = 16 << 20;

using Json = rapidjson::Value;

std::string_view truth(bool value) {
  return value ? "true" : "false";
}

template <class T>
void put_configured(Document& out, std::string_view name, const Override<T>& by) {
  if (by.configured) out.text(name, *by.configured);
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
      auto& by = overrides.mirrors[{required(item, "table"), required(item, "address")}];
      by.state = with_configured(word_in<ServiceState>(item, "state"), item, "configured_state");
      by.weight = with_configured(weight(item), item, "configured_weight");
    });
    each(document, "tables", [&](const Json& item) {
      auto& by = overrides.tables[required(item, "table")];
      std::optional<std::string> strategy;
      if (const auto name = text_member(item, "strategy"); !name.empty()) strategy = name;
      by.strategy = with_configured(std::move(strategy), item, "configured_strategy");
      by.hedging = with_configured(truth_of(item, "hedging"), item, "configured_hedge");
    });
    overrides.hedging =
        with_configured(truth_of(document, "hedging"), document, "configured_hedging");
    overrides.log_level =
        with_configured(word_in<LogLevel>(document, "log_level"), document, "configured_log_level");
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

  template <class T>
  static std::optional<Override<T>> with_configured(std::optional<T> value, const Json& item,
                                                    std::string_view configured) {
    if (!value) return std::nullopt;
    Override<T> by{.value = *std::move(value)};
    if (const auto text = text_member(item, configured); !text.empty()) by.configured = text;
    return by;
  }

  void mistake(std::string_view name) {
    if (wrong_.empty()) wrong_ = fmt::format("the member {} is missing or not as expected", name);
  }

  std::string required(const Json& item, std::string_view name) {
    const auto text = text_member(item, name);
    if (text.empty()) mistake(name);
    return std::string(text);
  }

  template <class Enum>
  std::optional<Enum> word_in(const Json& item, std::string_view name) {
    const auto* value = member_of(&item, name);
    if (value == nullptr) return std::nullopt;
    const auto found = kWords<Enum>.find(text_of(value));
    if (!found) mistake(name);
    return found;
  }

  std::optional<unsigned> weight(const Json& item) {
    const auto* value = member_of(&item, "weight");
    if (value == nullptr) return std::nullopt;
    if (value->IsUint() && value->GetUint() <= kMostWeight) return value->GetUint();
    mistake("weight");
    return std::nullopt;
  }

  std::optional<bool> truth_of(const Json& item, std::string_view name) {
    const auto* value = member_of(&item, name);
    if (value == nullptr) return std::nullopt;
    if (value->IsBool()) return value->GetBool();
    mistake(name);
    return std::nullopt;
  }

  std::string wrong_;
};

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

std::string configured_hedging(const Settings& settings) {
  return std::string(truth(!settings.searchd.hedge_disabled.value));
}

std::string configured_log_level(const Settings& settings) {
  return std::string(word(settings.searchd.log_level.value));
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
    out.array("mirrors", overrides.mirrors, [&](const auto& entry) {
      const auto& [name, by] = entry;
      out.object([&] {
        out.text("table", name.table);
        out.text("address", name.address);
        if (by.state) {
          out.text("state", word(by.state->value));
          put_configured(out, "configured_state", *by.state);
        }
        if (by.weight) {
          out.value("weight", by.weight->value);
          put_configured(out, "configured_weight", *by.weight);
        }
      });
    });
    out.array("tables", overrides.tables, [&](const auto& entry) {
      const auto& [name, by] = entry;
      out.object([&] {
        out.text("table", name);
        if (by.strategy) {
          out.text("strategy", by.strategy->value);
          put_configured(out, "configured_strategy", *by.strategy);
        }
        if (by.hedging) {
          out.raw("hedging", truth(by.hedging->value));
          put_configured(out, "configured_hedge", *by.hedging);
        }
      });
    });
    if (overrides.hedging) {
      out.raw("hedging", truth(overrides.hedging->value));
      put_configured(out, "configured_hedging", *overrides.hedging);
    }
    if (overrides.log_level) {
      out.text("log_level", word(overrides.log_level->value));
      put_configured(out, "configured_log_level", *overrides.log_level);
    }
    if (!found.empty()) out.raw("found", found);
  });
}

std::expected<Overrides, std::string> parse_overrides(std::string_view json) {
  return OverridesReader().run(json);
}

}  // namespace karmad
