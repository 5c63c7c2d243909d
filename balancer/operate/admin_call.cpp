#include "balancer/operate/admin_call.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <rapidjson/error/en.h>

#include <algorithm>
#include <map>

#include "agent/json/json_tree.hpp"
#include "agent/stats/document.hpp"
#include "agent/transport/http/http_syntax.hpp"
#include "balancer/topology/topology.hpp"
#include "config/agent_line.hpp"
#include "config/settings/words.hpp"
#include "config/text/closest.hpp"
#include "strategies/kinds/registry.hpp"

// What an admin call is about, as JSON: the state before and after it.

namespace karmad {
namespace {

using Json = rapidjson::Value;

/// Reads one member of a call into it. The error says what would be right.
std::expected<void, std::string> read_member(AdminCall& call, std::string_view name,
                                             const Json& value) {
  const auto text_into = [&](std::optional<std::string>& to) -> std::expected<void, std::string> {
    if (!value.IsString() || value.GetStringLength() == 0)
      return std::unexpected(fmt::format("{} must be a text that is not empty", name));
    to = text_of(value);
    return {};
  };
  if (name == "mirror") return text_into(call.mirror);
  if (name == "table") return text_into(call.table);
  if (name == "strategy") {
    const auto read = text_into(call.strategy);
    if (read && std::ranges::count(strategy_names(), *call.strategy) == 0)
      return std::unexpected(fmt::format("strategy must be one of {}{}",
                                         fmt::join(strategy_names(), ", "),
                                         suggestion(*call.strategy, strategy_names())));
    return read;
  }
  if (name == "weight") {
    if (!value.IsUint() || value.GetUint() > kMostWeight)
      return std::unexpected(fmt::format("weight must be a number from 0 to {}", kMostWeight));
    call.weight = value.GetUint();
  } else if (name == "on" || name == "force") {
    if (!value.IsBool()) return std::unexpected(fmt::format("{} must be true or false", name));
    if (name == "on") call.on = value.GetBool();
    if (name == "force") call.force = value.GetBool();
  } else {
    call.level = kWords<LogLevel>.find(text_of(&value));
    if (!call.level)
      return std::unexpected(
          fmt::format("level must be one of {}", fmt::join(words<LogLevel>(), ", ")));
  }
  return {};
}

std::string expected_members(AdminVerb verb) {
  const auto members = members_of(verb);
  if (members.required.empty() && members.optional.empty()) return "no members";
  std::vector<std::string> all;
  for (const auto name : members.required) all.emplace_back(name);
  for (const auto name : members.optional) all.push_back(fmt::format("{} (optional)", name));
  return fmt::format("{}", fmt::join(all, ", "));
}

std::string subject_of(const TableSettings& table, std::size_t shard,
                       const MirrorSettings& mirror) {
  return json_object([&](Document& out) {
    out.text("table", table.name);
    out.value("shard", shard);
    out.text("mirror", text(mirror.address));
    out.text("state", word(mirror.state.value));
    out.value("weight", mirror.weight.value);
  });
}

std::string subject_of(const TableSettings& table) {
  std::string strategies;
  for (const auto& shard : table.shards) {
    const auto strategy = shard.ha_strategy ? shard.ha_strategy->value : "default";
    if (strategies.empty()) strategies = strategy;
    if (strategies != strategy) strategies = "differs between shards";
  }
  return json_object([&](Document& out) {
    out.text("table", table.name);
    out.text("strategy", strategies);
    out.text("hedge", table.hedge.value);
  });
}

std::string subject_of(const InstanceSettings& searchd) {
  return json_object([&](Document& out) {
    out.raw("hedging", searchd.hedge_disabled.value ? "false" : "true");
    out.text("log_level", word(searchd.log_level.value));
  });
}

bool is_about_mirrors(const AdminCall& call) {
  using enum AdminVerb;
  return call.mirror || call.verb == reset_karma || call.verb == restore;
}

}  // namespace

AdminMembers members_of(AdminVerb verb) {
  using enum AdminVerb;
  static const std::map<AdminVerb, AdminMembers> kMembers{
      {ready, {{"mirror"}, {"table"}}},
      {drain, {{"mirror"}, {"table", "force"}}},
      {maint, {{"mirror"}, {"table", "force"}}},
      {weight, {{"mirror", "weight"}, {"table"}}},
      {strategy, {{"table", "strategy"}, {}}},
      {hedging, {{"on"}, {"table"}}},
      {log_level, {{"level"}, {}}},
      {reset_karma, {{}, {"mirror", "table"}}},
      {restore, {{}, {"mirror", "table", "force"}}},
      {reload, {}},
  };
  return kMembers.at(verb);
}

std::expected<AdminCall, std::string> parse_admin_call(AdminVerb verb, std::string_view body) {
  AdminCall call{.verb = verb};
  const auto document = tree_of(body.empty() ? "{}" : body);
  if (document.HasParseError())
    return std::unexpected(fmt::format("the body is not JSON; at byte {}: {}",
                                       document.GetErrorOffset(),
                                       rapidjson::GetParseError_En(document.GetParseError())));
  if (!document.IsObject()) return std::unexpected("the body must be a JSON object");
  const auto members = members_of(verb);
  std::vector<std::string_view> seen;
  for (const auto& member : document.GetObject()) {
    const auto name = text_of(member.name);
    if (std::ranges::count(members.required, name) + std::ranges::count(members.optional, name) ==
        0)
      return std::unexpected(fmt::format("unknown member {}; {} takes {}", in_quotes(name),
                                         kAdminVerbs[verb], expected_members(verb)));
    if (std::ranges::count(seen, name) != 0)
      return std::unexpected(fmt::format("the member {} is given twice", name));
    seen.push_back(name);
    if (const auto read = read_member(call, name, member.value); !read)
      return std::unexpected(read.error());
  }
  for (const auto name : members.required)
    if (std::ranges::count(seen, name) == 0)
      return std::unexpected(fmt::format("the member {} is missing; {} takes {}", name,
                                         kAdminVerbs[verb], expected_members(verb)));
  return call;
}

namespace {

/// The tables that the call is about; 404 if there is none of that name.
std::expected<std::vector<const TableSettings*>, AdminRefusal> tables_of(const AdminCall& call,
                                                                         const Settings& settings) {
  std::vector<const TableSettings*> found;
  std::vector<std::string_view> known;
  for (const auto& table : settings.tables) {
    known.emplace_back(table.name);
    if (!call.table || wire::same_word(table.name, *call.table)) found.push_back(&table);
  }
  if (found.empty() && call.table)
    return std::unexpected(AdminRefusal{404, unknown_table(*call.table, known)});
  return found;
}

void override_mirror(MirrorOverride& by, const AdminCall& call, const Settings& configured,
                     const MirrorName& name) {
  using enum AdminVerb;
  if (call.verb == weight) {
    by.weight = {.value = *call.weight, .configured = configured_weight(configured, name)};
    return;
  }
  const auto state = call.verb == drain   ? ServiceState::drain
                     : call.verb == maint ? ServiceState::maint
                                          : ServiceState::ready;
  by.state = {.value = state, .configured = configured_state(configured, name)};
}

std::optional<AdminRefusal> override_table(TableOverride& by, const AdminCall& call,
                                           const TableSettings& table) {
  if (call.strategy)
    by.strategy = {.value = *call.strategy, .configured = configured_strategy(table)};
  if (!call.on) return std::nullopt;
  if (*call.on && table.hedge.value == "off")
    return AdminRefusal{409, fmt::format("table {} has hedge = off in its configuration; there is "
                                         "nothing to switch on",
                                         table.name)};
  by.hedging = {.value = *call.on, .configured = table.hedge.value};
  return std::nullopt;
}

/// Removes what the operator changed of these mirrors, and of the tables if no mirror is named;
/// also of those that the configuration does not have now, as their changes wait for them.
std::expected<Overrides, AdminRefusal> restored(const AdminCall& call, const Settings& configured,
                                                Overrides overrides) {
  if (!call.mirror && !call.table) return Overrides{};
  const auto is_named = [&](std::string_view table) {
    return !call.table || wire::same_word(table, *call.table);
  };
  auto removed = std::erase_if(overrides.mirrors, [&](const auto& entry) {
    return is_named(entry.first.table) && (!call.mirror || *call.mirror == entry.first.address);
  });
  if (!call.mirror)
    removed +=
        std::erase_if(overrides.tables, [&](const auto& entry) { return is_named(entry.first); });
  if (const auto mirrors = mirrors_of(call, configured); removed == 0 && !mirrors)
    return std::unexpected(mirrors.error());
  return overrides;
}

}  // namespace

std::expected<std::vector<MirrorName>, AdminRefusal> mirrors_of(const AdminCall& call,
                                                                const Settings& settings) {
  const auto tables = tables_of(call, settings);
  if (!tables) return std::unexpected(tables.error());
  std::vector<MirrorName> found;
  std::vector<std::string> known;
  for (const auto* table : *tables)
    for (const auto& shard : table->shards)
      for (const auto& mirror : shard.mirrors) {
        MirrorName name{table->name, text(mirror.address)};
        known.push_back(name.address);
        if (call.mirror && *call.mirror != name.address) continue;
        if (std::ranges::find(found, name) == found.end()) found.push_back(std::move(name));
      }
  if (!found.empty() || !call.mirror) return found;
  const std::vector<std::string_view> views(known.begin(), known.end());
  auto right = suggestion(*call.mirror, views);
  if (right.empty() && !known.empty())
    right = fmt::format("; a mirror is called by its address, such as {}", known.front());
  return std::unexpected(
      AdminRefusal{404, fmt::format("no mirror {}{}{}", in_quotes(*call.mirror),
                                    call.table ? " in table " + *call.table : "", right)});
}

std::expected<Overrides, AdminRefusal> apply(const AdminCall& call, const Settings& configured,
                                             Overrides overrides) {
  if (call.verb == AdminVerb::restore) return restored(call, configured, std::move(overrides));
  if (call.mirror) {
    const auto mirrors = mirrors_of(call, configured);
    if (!mirrors) return std::unexpected(mirrors.error());
    for (const auto& name : *mirrors)
      override_mirror(overrides.mirrors[name], call, configured, name);
  } else if (call.table) {
    const auto tables = tables_of(call, configured);
    if (!tables) return std::unexpected(tables.error());
    for (const auto* table : *tables)
      if (auto refused = override_table(overrides.tables[table->name], call, *table))
        return std::unexpected(*refused);
  } else {
    if (call.on)
      overrides.hedging = {.value = *call.on, .configured = configured_hedging(configured)};
    if (call.level)
      overrides.log_level = {.value = *call.level, .configured = configured_log_level(configured)};
  }
  if (overrides.size() > kMostOverrides)
    return std::unexpected(AdminRefusal{
        409, fmt::format("{} mirrors and tables have changes already; restore some of them",
                         kMostOverrides)});
  return overrides;
}

std::vector<std::string> subjects(const AdminCall& call, const Settings& settings) {
  std::vector<std::string> all;
  if (!call.mirror && !call.table) all.push_back(subject_of(settings.searchd));
  for (const auto& table : settings.tables) {
    if (call.table && !wire::same_word(table.name, *call.table)) continue;
    if (!call.mirror && (call.table || call.verb == AdminVerb::restore))
      all.push_back(subject_of(table));
    for (std::size_t s = 0; is_about_mirrors(call) && s < table.shards.size(); ++s)
      for (const auto& mirror : table.shards[s].mirrors)
        if (!call.mirror || text(mirror.address) == *call.mirror)
          all.push_back(subject_of(table, s + 1, mirror));
  }
  return all;
}

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
  return fmt::format(
      "no mirror that can serve searches would be left: {}; nothing was changed; with force "
      "(\"force\":true, karmad ctl --force) it is done nevertheless",
      some_of(shards, kNamed, "; "));
}

namespace {

template <class Members>
AdminResult document_of(int status, Members members) {
  return {.status = status, .body = json_object(members)};
}

void write_side(Document& out, std::string_view key,
                const std::optional<EffectiveSetting>& setting) {
  if (!setting) return out.raw(key, "null");
  out.object(key, [&] {
    out.text("value", setting->value);
    out.text("source", setting->source);
  });
}

}  // namespace

AdminResult admin_error(int status, std::string_view reason, const Problems& problems) {
  return document_of(status, [&](Document& out) {
    out.text("error", reason);
    if (problems.empty()) return;
    out.array("problems", problems, [&](const Problem& problem) { out.text(text(problem)); });
  });
}

AdminResult admin_changed(AdminVerb verb, const std::vector<std::string>& before,
                          const std::vector<std::string>& after, std::string_view not_saved) {
  std::vector<std::size_t> shown;
  for (std::size_t i = 0; i < after.size(); ++i)
    if (verb != AdminVerb::restore || before[i] != after[i]) shown.push_back(i);
  return document_of(200, [&](Document& out) {
    out.text("call", kAdminVerbs[verb]);
    out.objects("changed", shown, [&](std::size_t i) {
      out.raw("before", before[i]);
      out.raw("after", after[i]);
    });
    if (!not_saved.empty()) out.text("not_saved", not_saved);
  });
}

AdminResult admin_reloaded(const std::vector<SettingChange>& changes,
                           const std::vector<std::string_view>& fixed) {
  return document_of(200, [&](Document& out) {
    out.text("call", "reload");
    out.objects("changed", changes, [&](const SettingChange& change) {
      out.text("setting", change.name);
      write_side(out, "before", change.before);
      write_side(out, "after", change.after);
    });
    out.array("at_next_start", fixed, [&](std::string_view name) { out.text(name); });
  });
}

AdminResult admin_config(const Settings& settings, std::string_view state) {
  return document_of(200, [&](Document& out) {
    out.objects("settings", effective_settings(settings), [&](const EffectiveSetting& setting) {
      out.text("name", setting.name);
      out.text("value", setting.value);
      out.text("source", setting.source);
    });
    out.objects("shares", expected_shares(settings), [&](const ExpectedShare& share) {
      out.text("table", share.table);
      out.value("shard", share.shard);
      out.text("mirror", share.mirror);
      out.value("share", share.share);
    });
    out.raw("overrides", state);
  });
}

std::vector<ExpectedShare> expected_shares(const Settings& settings) {
  AgentRegistry agents(1, settings.searchd.ha_period_karma.value);
  const Loops none;
  Problems problems;
  const auto topology =
      Topology::build(settings, {.registry = agents, .loops = none}, nullptr, problems);
  std::vector<ExpectedShare> all;
  if (!topology) return all;
  topology->apply_limits(TimePoint{});
  for (const auto& table : topology->tables)
    for (std::size_t s = 0; s < table->shards.size(); ++s) {
      const auto& set = *table->shards[s]->mirrors;
      const auto shares = set.shares({.excluded = set.out_of_service().all()}, 0);
      for (std::size_t i = 0; i < set.size(); ++i)
        all.push_back({table->name, s + 1, set[i].agent->name, shares[i]});
    }
  return all;
}

}  // namespace karmad
