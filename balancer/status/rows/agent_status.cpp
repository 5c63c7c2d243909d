#include "balancer/status/rows/agent_status.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <optional>
#include <set>

#include "agent/json/json_text.hpp"
#include "agent/stats/document.hpp"
#include "agent/transport/http/http_syntax.hpp"
#include "balancer/status/rows/like.hpp"
#include "balancer/topology/topology.hpp"

namespace karmad {
namespace {

std::string shown(const Stat& stat, Micros time) {
  const double unit = stat.unit == Unit::seconds ? 1e6 : stat.unit == Unit::milliseconds ? 1e3 : 1;
  const auto value = static_cast<double>(time.count()) / unit;
  if (stat.decimals == 0) return fmt::format("{}", static_cast<std::int64_t>(value));
  return fmt::format("{:.{}f}", value, stat.decimals);
}

std::string shown(const Stat& stat, double value) {
  return stat.unit == Unit::share ? fmt::format("{:.2f}%", 100 * value) : fmt::format("{}", value);
}

std::string shown(const Stat&, std::integral auto value) {
  return fmt::to_string(value);
}

std::string yes_no(bool yes) {
  return yes ? "yes" : "no";
}

// HA-024 defines these names and their order.
void add_agent(Rows rows, const AgentStatus& agent) {
  rows.text("hostname", agent.address);
  rows.count("references", agent.references);
  rows.text("ping", yes_no(agent.pinged));
  rows.text("has_perspool", yes_no(agent.has_pool));
  rows.text("need_resolve", yes_no(agent.need_resolve));
  write_times(rows, agent.numbers);
  write_ping(rows, agent.numbers);
  write_errors(rows, agent.numbers);
  for (std::size_t i = 0; i < kShownPeriods.size(); ++i) {
    auto of_periods = rows.under(fmt::format("{}periods_", kShownPeriods[i]));
    write(of_periods, agent.periods[i], Over::periods);
  }
}

RowSink into(ResultSet& set) {
  return [&set](const std::string& key, const std::string& value, bool) {
    set.add_row({key, value});
  };
}

/// `host:port:table,table`.
std::string id(const Snapshot& snapshot, const MirrorStatus& mirror) {
  return fmt::format("{}:{}", snapshot.agents[mirror.agent].address, fmt::join(mirror.tables, ","));
}

/// Calls `visit` for each shard of the table, then for each blackhole; numbers continue from 1.
template <class Visit>
void for_each_shard(const TableStatus& table, Visit visit) {
  std::size_t number = 0;
  for (const auto& shard : table.shards) visit(++number, shard, false);
  for (const auto& shard : table.blackholes) visit(++number, shard, true);
}

/// Calls `visit` for each mirror, with the name of its table and the numbers of its shard and of
/// itself, from 1.
template <class Visit>
void for_each_mirror(const Snapshot& snapshot, Visit visit) {
  for (const auto& table : snapshot.tables)
    for (std::size_t shard = 0; shard < table.shards.size(); ++shard) {
      const auto& mirrors = table.shards[shard].mirrors;
      for (std::size_t i = 0; i < mirrors.size(); ++i)
        visit(mirrors[i], table.name, shard + 1, i + 1);
    }
}

std::string or_none(const std::string& text) {
  return text.empty() ? "none" : text;
}

/// The state of a mirror from pings and errors; the search server has no such rows.
void add_standing(Rows rows, const Standing& standing, const AgentStatus& agent) {
  rows.text("role", standing.role);
  rows.text("tags", or_none(standing.tags));
  write(rows, standing);
  write_load(rows, agent.numbers);
  rows.text("unsuitable", or_none(standing.unsuitable));
}

/// The rows of one shard of SHOW AGENT table STATUS. A single mirror is called `agent` and has no
/// weight, as in the search server.
void add_shard(const Rows& rows, const Snapshot& snapshot, std::size_t number,
               const ShardStatus& shard) {
  auto of_shard = rows.under(fmt::format("dstindex_{}", number));
  const bool mirrored = shard.mirrors.size() > 1;
  of_shard.count("_is_ha", mirrored);
  if (!shard.kind.empty()) {
    of_shard.text("_kind", shard.mixed ? shard.kind + " (mixed)" : shard.kind);
    auto of_line = of_shard.under("_");
    write(of_line, shard.line);
  }
  for (std::size_t i = 0; i < shard.mirrors.size(); ++i) {
    const MirrorStatus& mirror = shard.mirrors[i];
    auto of_mirror = of_shard.under(mirrored ? fmt::format("mirror{}_", i + 1) : "_agent_");
    of_mirror.text("id", id(snapshot, mirror));
    if (mirrored) write_shares(of_mirror, mirror);
    of_mirror.count("is_blackhole", mirror.blackhole);
    of_mirror.count("is_persistent", mirror.persistent);
    if (!mirror.blackhole) add_standing(of_mirror, mirror.standing, snapshot.agents[mirror.agent]);
  }
}

ResultSet show_agents(const Snapshot& snapshot) {
  auto set = text_rows({"Key", "Value"});
  const auto sink = into(set);
  const Rows rows(sink);
  auto status = rows.under("status_");
  write_periods(status, snapshot);
  for (std::size_t i = 0; i < snapshot.agents.size(); ++i)
    add_agent(rows.under(fmt::format("ag_{}_", i)), snapshot.agents[i]);
  for_each_mirror(snapshot, [&](const MirrorStatus& mirror, const auto&... place) {
    add_standing(rows.under(fmt::format("mirror_{}_{}_{}_", place...)), mirror.standing,
                 snapshot.agents[mirror.agent]);
  });
  return set;
}

std::string no_table(const Snapshot& snapshot, std::string_view name) {
  std::vector<std::string_view> known;
  for (const auto& table : snapshot.tables) known.push_back(table.name);
  return unknown_table(clean_utf8(name), known);
}

const TableStatus* find_table(const Snapshot& snapshot, std::string_view name) {
  const auto found = std::ranges::find_if(
      snapshot.tables, [&](const TableStatus& each) { return wire::same_word(each.name, name); });
  return found == snapshot.tables.end() ? nullptr : &*found;
}

/// Looks for a table of that name first, then for an agent's address.
bool add_named(const Rows& rows, std::string_view name, const Snapshot& snapshot) {
  if (const auto* table = find_table(snapshot, name)) {
    for_each_shard(*table, [&](auto number, const ShardStatus& shard, bool) {
      add_shard(rows, snapshot, number, shard);
    });
    return true;
  }
  const auto agent = std::ranges::find_if(snapshot.agents, [&](const AgentStatus& each) {
    return wire::same_word(each.address, name);  // host names are case-insensitive
  });
  if (agent == snapshot.agents.end()) return false;
  add_agent(rows.under("agent_"), *agent);
  return true;
}

/// For people: what matters of each mirror in one row.
ResultSet show_mirrors(const Snapshot& snapshot) {
  auto set = text_rows({"Address", "Table", "Shard", "Mirror", "State", "Since", "Share", "p95 ms",
                        "In flight", "Errors in a row", "Reason"});
  for_each_mirror(snapshot, [&](const MirrorStatus& mirror, const std::string& table,
                                std::size_t shard, std::size_t number) {
    const auto& agent = snapshot.agents[mirror.agent];
    const auto& report = mirror.report;
    const auto p95 = agent.latency.p95;
    set.add_row(
        {agent.address, table, fmt::to_string(shard), fmt::to_string(number),
         name(report.condition),
         report.since == WallTime{} ? std::string() : utc_text(report.since),
         fmt::format("{:.0f} %", mirror.probability * 100),
         p95 ? fmt::format("{:.1f}", static_cast<double>(p95->count()) / 1000) : std::string(),
         fmt::to_string(agent.numbers.in_flight), fmt::to_string(agent.numbers.errors_in_a_row),
         clean_utf8(report.reason)});
  });
  return set;
}

ResultSet show_tables(const Snapshot& snapshot) {
  auto set = text_rows({"Table", "Type"});
  std::vector<std::string_view> names;
  for (const auto& table : snapshot.tables) names.push_back(table.name);
  std::ranges::sort(names);
  for (const auto name : names) set.add_row({name, "distributed"});
  return set;
}

/// `remote_1_mirror_2`; `remote_1` for a lone mirror; `blackhole_…` likewise.
ResultSet describe(const Snapshot& snapshot, const TableStatus& table) {
  auto set = text_rows({"Agent", "Type"});
  for_each_shard(table, [&](auto number, const ShardStatus& shard, bool blackhole) {
    for (std::size_t i = 0; i < shard.mirrors.size(); ++i) {
      auto type = fmt::format("{}_{}", blackhole ? "blackhole" : "remote", number);
      if (shard.mirrors.size() > 1) type += fmt::format("_mirror_{}", i + 1);
      set.add_row({id(snapshot, shard.mirrors[i]), type});
    }
  });
  return set;
}

ResultSet show_status(const Snapshot& snapshot) {
  auto set = text_rows({"Counter", "Value"});
  status_rows(snapshot, into(set));
  return set;
}

ResultSet filtered(ResultSet set, const std::optional<std::string>& like) {
  keep_like(set, like);
  return set;
}

}  // namespace

void Rows::count(std::string_view key, std::uint64_t value) const {
  sink_(prefix_ + std::string(key), fmt::format("{}", value), true);
}

void Rows::put(const Stat& stat, const StatValue& value, std::span<const Label> labels) {
  if (stat.row_key() == kHidden) return;
  auto key = prefix_;
  for (const auto& label : labels) key.append(label.value) += '_';
  key += stat.row_key();
  std::visit(
      [&]<class T>(const T& of) {
        if constexpr (std::is_same_v<T, Unlimited>) {
          sink_(std::move(key), "unlimited", false);
        } else if constexpr (std::is_same_v<T, bool>) {
          sink_(std::move(key), of ? "yes" : "no", false);
        } else if constexpr (std::is_same_v<T, double>) {
          sink_(std::move(key), shown(stat, of), stat.unit != Unit::share && std::isfinite(of));
        } else if constexpr (!std::is_same_v<T, std::monostate>) {
          sink_(std::move(key), shown(stat, of), true);
        } else if (stat.zero_if_unmeasured) {
          sink_(std::move(key), shown(stat, Micros{}), true);
        } else {
          sink_(std::move(key), "n/a", false);
        }
      },
      value.get());
}

void status_rows(const Snapshot& snapshot, const RowSink& sink) {
  Rows rows(sink);
  write_begin(rows, snapshot.process);
  rows.text("version", snapshot.process.version);
  write_counters(rows, snapshot.process);
  for_each_mirror(snapshot, [&](const MirrorStatus& mirror, const auto&... place) {
    auto of_mirror = rows.under(fmt::format("ag_{}_{}_{}_", place...));
    write_since_start(of_mirror, mirror);
  });
}

void append_status_json(std::string& out, const Snapshot& snapshot) {
  Document document(out);
  document.object([&] {
    std::set<std::string> seen;
    status_rows(snapshot, [&](std::string key, const std::string& value, bool is_number) {
      const auto [name, is_new] = seen.insert(clean_utf8(key));  // tables may have any name
      if (!is_new) return;
      if (is_number) {
        document.raw(*name, value);
      } else {
        document.text(*name, value);
      }
    });
  });
}

std::expected<ResultSet, std::string> answer(const sql::StatusStatement& statement,
                                             const Snapshot& snapshot) {
  switch (statement.show) {
    case sql::Show::agent_status:
      return filtered(show_agents(snapshot), statement.like);
    case sql::Show::agents:
      return filtered(show_mirrors(snapshot), statement.like);
    case sql::Show::tables:
      return filtered(show_tables(snapshot), statement.like);
    case sql::Show::status:
      return filtered(show_status(snapshot), statement.like);
    case sql::Show::version: {
      auto set = text_rows({"Component", "Version"});
      set.add_row({"karmad", snapshot.process.version});
      return set;
    }
    case sql::Show::table:
      if (const auto* table = find_table(snapshot, statement.name))
        return filtered(describe(snapshot, *table), statement.like);
      return std::unexpected(no_table(snapshot, statement.name));
    case sql::Show::agent:
      break;
  }
  auto set = text_rows({"Variable_name", "Value"});
  const auto sink = into(set);
  if (add_named(Rows(sink), statement.name, snapshot))
    return filtered(std::move(set), statement.like);
  // Not filtered: a hidden error would look like an empty answer.
  set.add_row(
      {"status_error", fmt::format("No such distributed table or agent: {}", statement.name)});
  return set;
}

}  // namespace karmad
