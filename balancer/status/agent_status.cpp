#include "balancer/status/agent_status.hpp"

#include "agent/transport/http/http_syntax.hpp"
#include "balancer/status/json_text.hpp"
#include "balancer/status/like.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace karmad {
namespace {

constexpr std::string_view kNotMeasured = "n/a";

std::string seconds(std::optional<Micros> time) {
  if (!time) return std::string{kNotMeasured};
  return fmt::format("{:.2f}", static_cast<double>(time->count()) / 1e6);
}

/// Exact: three decimals of a millisecond are microseconds.
std::string milliseconds(std::optional<Micros> time) {
  if (!time) return std::string{kNotMeasured};
  return fmt::format("{:.3f}", static_cast<double>(time->count()) / 1e3);
}

std::string yes_no(bool yes) {
  return yes ? "yes" : "no";
}
std::string one_zero(bool one) {
  return one ? "1" : "0";
}

/// Rows of two columns whose keys share a beginning.
class Rows {
 public:
  explicit Rows(ResultSet& set) : set_(set) {}
  Rows under(const std::string& more) const { return Rows{set_, prefix_ + more}; }
  void add(std::string_view key, std::string value) const {
    set_.rows.push_back({fmt::format("{}{}", prefix_, key), std::move(value)});
  }
  void add(std::string_view key, std::uint64_t value) const { add(key, fmt::format("{}", value)); }

 private:
  Rows(ResultSet& set, std::string prefix) : set_(set), prefix_(std::move(prefix)) {}

  ResultSet& set_;
  std::string prefix_;
};

void add_counters(const Rows& rows, const Totals& totals) {
  for (std::size_t i = 0; i < kCounters; ++i)
    rows.add(name(static_cast<Counter>(i)), totals.counts[i]);
}

void add_connects(const Rows& rows, const Totals& totals) {
  rows.add("connect_count", totals.connects);
  rows.add("connect_avg", milliseconds(mean_connect_time(totals).value_or(Micros{})));
  rows.add("connect_max", milliseconds(totals.connect_max));
}

// HA-024: these names, in this order.
void add_agent(const Rows& rows, const AgentStatus& agent) {
  rows.add("hostname", agent.address);
  rows.add("references", agent.references);
  rows.add("ping", yes_no(agent.pinged));
  rows.add("has_perspool", yes_no(agent.has_pool));
  rows.add("need_resolve", yes_no(agent.need_resolve));
  rows.add("lastquery", seconds(agent.last_query));
  rows.add("lastanswer", seconds(agent.last_answer));
  rows.add("lastperiodmsec", milliseconds(agent.last_period));
  rows.add("pingtripmsec", milliseconds(agent.ping_trip));
  rows.add("errorsarow", agent.errors_in_a_row);
  for (std::size_t i = 0; i < kShownPeriods.size(); ++i) {
    const auto of_periods = rows.under(fmt::format("{}periods_", kShownPeriods[i]));
    const Totals& totals = agent.periods[i];
    add_counters(of_periods, totals);
    of_periods.add("msecsperquery", milliseconds(mean_query_time(totals)));
    add_connects(of_periods, totals);
  }
}

/// `host:port:table,table`.
std::string id(const Snapshot& snapshot, const MirrorStatus& mirror) {
  return fmt::format("{}:{}", snapshot.agents[mirror.agent].address, fmt::join(mirror.tables, ","));
}

/// Calls `visit` for each shard of the table, then for each black hole; numbers run on from 1.
template <class Visit>
void for_each_shard(const TableStatus& table, Visit visit) {
  std::size_t number = 0;
  for (const auto& shard : table.shards) visit(++number, shard, false);
  for (const auto& shard : table.blackholes) visit(++number, shard, true);
}

std::string or_none(const std::string& text) {
  return text.empty() ? "none" : text;
}

/// What pings and errors say of a mirror; the search server knows nothing of it.
void add_standing(const Rows& rows, const Standing& standing, const AgentStatus& agent) {
  rows.add("_role", standing.role);
  rows.add("_tags", or_none(standing.tags));
  rows.add("_staleness_ms", milliseconds(standing.staleness));
  rows.add("_generation", standing.generation ? fmt::format("{}", *standing.generation)
                                              : std::string{kNotMeasured});
  rows.add("_rtt_ms", milliseconds(standing.rtt));
  rows.add("_rtt_ms_least", milliseconds(standing.least_rtt));
  rows.add("_in_flight", agent.in_flight);
  rows.add("_max_in_flight", agent.max_in_flight == 0 ? std::string{"unlimited"}
                                                      : fmt::format("{}", agent.max_in_flight));
  rows.add("_unsuitable", or_none(standing.unsuitable));
}

/// The rows of one shard of SHOW AGENT table STATUS. A lone mirror is called `agent` and has no
/// weight, as in the search server.
void add_shard(const Rows& rows, const Snapshot& snapshot, std::size_t number,
               const ShardStatus& shard) {
  const auto of_shard = rows.under(fmt::format("dstindex_{}", number));
  const bool mirrored = shard.mirrors.size() > 1;
  of_shard.add("_is_ha", one_zero(mirrored));
  if (!shard.kind.empty())
    of_shard.add("_kind", shard.mixed ? shard.kind + " (mixed)" : shard.kind);
  if (!shard.kind.empty()) {
    of_shard.add("_waiting", shard.line.waiting);
    of_shard.add("_waited", shard.line.waited);
    of_shard.add("_refused", shard.line.refused);
  }
  for (std::size_t i = 0; i < shard.mirrors.size(); ++i) {
    const MirrorStatus& mirror = shard.mirrors[i];
    const auto of_mirror = of_shard.under(mirrored ? fmt::format("mirror{}", i + 1) : "_agent");
    of_mirror.add("_id", id(snapshot, mirror));
    if (mirrored) of_mirror.add("_probability_weight", fmt::format("{:.2f}%", 100 * mirror.weight));
    of_mirror.add("_is_blackhole", one_zero(mirror.blackhole));
    of_mirror.add("_is_persistent", one_zero(mirror.persistent));
    if (!mirror.blackhole) add_standing(of_mirror, mirror.standing, snapshot.agents[mirror.agent]);
  }
}

ResultSet show_agents(const Snapshot& snapshot) {
  ResultSet set{.columns = {"Key", "Value"}};
  const auto status = Rows{set}.under("status_");
  const auto period = std::chrono::duration_cast<std::chrono::seconds>(snapshot.period);
  status.add("period_seconds", static_cast<std::uint64_t>(period.count()));
  status.add("stored_periods", snapshot.stored_periods);
  for (std::size_t i = 0; i < snapshot.agents.size(); ++i)
    add_agent(Rows{set}.under(fmt::format("ag_{}_", i)), snapshot.agents[i]);
  for (const auto& table : snapshot.tables)
    for (std::size_t shard = 0; shard < table.shards.size(); ++shard) {
      const auto& mirrors = table.shards[shard].mirrors;
      for (std::size_t i = 0; i < mirrors.size(); ++i)
        add_standing(Rows{set}.under(fmt::format("mirror_{}_{}_{}", table.name, shard + 1, i + 1)),
                     mirrors[i].standing, snapshot.agents[mirrors[i].agent]);
    }
  return set;
}

const TableStatus* find_table(const Snapshot& snapshot, std::string_view name) {
  const auto found = std::ranges::find_if(
      snapshot.tables, [&](const TableStatus& each) { return wire::same_word(each.name, name); });
  return found == snapshot.tables.end() ? nullptr : &*found;
}

/// The name of a table goes before the address of an agent.
bool add_named(ResultSet& set, std::string_view name, const Snapshot& snapshot) {
  if (const auto* table = find_table(snapshot, name)) {
    for_each_shard(*table, [&](auto number, const ShardStatus& shard, bool) {
      add_shard(Rows{set}, snapshot, number, shard);
    });
    return true;
  }
  const auto agent = std::ranges::find_if(snapshot.agents, [&](const AgentStatus& each) {
    return wire::same_word(each.address, name);  // a host's name has no case
  });
  if (agent == snapshot.agents.end()) return false;
  add_agent(Rows{set}.under("agent_"), *agent);
  return true;
}

ResultSet show_tables(const Snapshot& snapshot) {
  ResultSet set{.columns = {"Table", "Type"}};
  for (const auto& table : snapshot.tables) set.rows.push_back({table.name, "distributed"});
  std::ranges::sort(set.rows);
  return set;
}

/// `remote_1_mirror_2`; `remote_1` for a lone mirror; `blackhole_…` likewise.
ResultSet describe(const Snapshot& snapshot, const TableStatus& table) {
  ResultSet set{.columns = {"Agent", "Type"}};
  for_each_shard(table, [&](auto number, const ShardStatus& shard, bool blackhole) {
    for (std::size_t i = 0; i < shard.mirrors.size(); ++i) {
      auto type = fmt::format("{}_{}", blackhole ? "blackhole" : "remote", number);
      if (shard.mirrors.size() > 1) type += fmt::format("_mirror_{}", i + 1);
      set.rows.push_back({id(snapshot, shard.mirrors[i]), std::move(type)});
    }
  });
  return set;
}

void add_process(const Rows& rows, const ProcessStatus& process) {
  const auto uptime = std::chrono::duration_cast<std::chrono::seconds>(process.uptime);
  rows.add("uptime", static_cast<std::uint64_t>(uptime.count()));
  rows.add("connections", process.connections);
  rows.add("version", process.version);
  rows.add("workers_total", process.workers);
  for (const auto& counter : process.counters) rows.add(counter.name, counter.value);
}

/// Black holes have no counters: their answers are dropped.
void add_mirrors(const Rows& rows, const TableStatus& table) {
  for (std::size_t shard = 0; shard < table.shards.size(); ++shard) {
    const auto& mirrors = table.shards[shard].mirrors;
    for (std::size_t mirror = 0; mirror < mirrors.size(); ++mirror) {
      const auto of_mirror =
          rows.under(fmt::format("ag_{}_{}_{}_", table.name, shard + 1, mirror + 1));
      const Totals& totals = mirrors[mirror].since_start;
      add_counters(of_mirror, totals);
      of_mirror.add("total_query_time", milliseconds(totals.query_time));
      add_connects(of_mirror, totals);
    }
  }
}

ResultSet show_status(const Snapshot& snapshot) {
  ResultSet set{.columns = {"Counter", "Value"}};
  add_process(Rows{set}, snapshot.process);
  for (const auto& table : snapshot.tables) add_mirrors(Rows{set}, table);
  return set;
}

ResultSet filtered(ResultSet set, const std::optional<std::string>& like) {
  if (like) std::erase_if(set.rows, [&](const auto& row) { return !is_like(row.front(), *like); });
  return set;
}

}  // namespace

std::expected<ResultSet, std::string> answer(const StatusStatement& statement,
                                             const Snapshot& snapshot) {
  switch (statement.show) {
    case Show::agents:
      return filtered(show_agents(snapshot), statement.like);
    case Show::tables:
      return filtered(show_tables(snapshot), statement.like);
    case Show::status:
      return filtered(show_status(snapshot), statement.like);
    case Show::version:
      return ResultSet{{"Component", "Version"}, {{"karmad", snapshot.process.version}}};
    case Show::table:
      if (const auto* table = find_table(snapshot, statement.name))
        return filtered(describe(snapshot, *table), statement.like);
      return std::unexpected(fmt::format("no such table '{}'", clean_utf8(statement.name)));
    case Show::agent:
      break;
  }
  ResultSet set{.columns = {"Variable_name", "Value"}};
  if (add_named(set, statement.name, snapshot)) return filtered(std::move(set), statement.like);
  // Not filtered: an error that a pattern hides would look like an empty answer.
  set.rows.push_back(
      {"status_error", fmt::format("No such distributed table or agent: {}", statement.name)});
  return set;
}

}  // namespace karmad
