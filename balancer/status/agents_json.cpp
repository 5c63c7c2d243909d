#include "balancer/status/status_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "agent/stats/document.hpp"
#include "config/settings/words.hpp"

namespace karmad {
namespace {

/// The condition of the mirror; an agent that gets copies of queries has none.
void write_condition(Document& out, const MirrorStatus& mirror, const AgentStatus& agent) {
  if (mirror.blackhole) return out.text("state", "blackhole");
  const auto& report = mirror.report;
  out.text("state", name(report.condition));
  out.text("state_since", report.since == WallTime{} ? "" : utc_text(report.since));
  out.text("reason", report.reason);
  out.text("diagnosis", diagnosis(agent.address, report));
}

void write_agent(Document& out, const AgentStatus& agent) {
  write_errors(out, agent.numbers);
  out.text("last_error", agent.last_error);
  out.text("last_error_at", agent.last_error.empty() ? "" : utc_text(agent.last_error_at));
  out.value("pinged", agent.pinged);
  write_ping(out, agent.numbers);
  write_load(out, agent.numbers);
  write_times(out, agent.numbers);
  out.object("latency_ms", [&] {
    out.value("mean", mean_query_time(agent.periods.front()), Unit::milliseconds);
    write(out, agent.latency);
  });
  out.object("periods", [&] {
    for (std::size_t i = 0; i < kShownPeriods.size(); ++i)
      out.object(fmt::format("{}", kShownPeriods[i]),
                 [&] { write(out, agent.periods[i], Over::periods); });
  });
}

void write_standing(Document& out, const Standing& standing) {
  out.text("role", standing.role);
  out.text("tags", standing.tags);
  write(out, standing);
  out.text("unsuitable", standing.unsuitable);
}

void write_mirror(Document& out, const Snapshot& snapshot, std::size_t number,
                  const MirrorStatus& mirror) {
  out.value("mirror", number);
  const AgentStatus& agent = snapshot.agents[mirror.agent];
  out.text("address", agent.address);
  out.array("tables", mirror.tables, [&](const auto& table) { out.text(table); });
  write_condition(out, mirror, agent);
  write_shares(out, mirror);
  if (!mirror.blackhole) {
    out.text("service", word(mirror.service.state));
    out.value("configured_weight", mirror.service.weight);
    write(out, mirror.signals);
  }
  out.value("persistent", mirror.persistent);
  out.value("blackhole", mirror.blackhole);
  if (!mirror.blackhole) write_standing(out, mirror.standing);
  write_agent(out, agent);
  out.object("since_start", [&] { write_since_start(out, mirror); });
}

/// Shards are numbered from `number`.
void write_shards(Document& out, const Snapshot& snapshot, std::string_view key,
                  const std::vector<ShardStatus>& shards, std::size_t number) {
  out.objects(key, shards, [&](const ShardStatus& shard) {
    out.value("shard", ++number);
    out.text("strategy", shard.strategy);
    if (!shard.kind.empty()) {
      out.text("kind", shard.kind);
      out.value("mixed", shard.mixed);
      out.text("diagnosis", diagnosis(snapshot, shard));
      out.value("can_serve", count_of(shard).can_serve);
      out.text("criteria", shard.criteria);
      out.object("retry_budget", [&] { write(out, shard.budget); });
      out.object("max_in_flight", [&] { write(out, shard.line); });
      if (shard.outliers) out.object("outliers", [&] { write(out, *shard.outliers); });
    }
    std::size_t mirrors = 0;
    out.objects("mirrors", shard.mirrors, [&](const MirrorStatus& mirror) {
      write_mirror(out, snapshot, ++mirrors, mirror);
    });
  });
}

const MirrorStatus& worst_of(const ShardStatus& shard) {
  return *std::ranges::max_element(shard.mirrors, {}, [](const MirrorStatus& mirror) {
    return std::pair(is_trouble(mirror.report.condition), mirror.report.condition);
  });
}

}  // namespace

SetCount count_of(const ShardStatus& shard) {
  SetCount count;
  for (const auto& mirror : shard.mirrors) count.add(mirror.report.condition);
  return count;
}

std::string diagnosis(const Snapshot& snapshot, const ShardStatus& shard) {
  if (shard.mirrors.empty()) return "has no mirrors";
  const auto& worst = worst_of(shard);
  const auto about = diagnosis(snapshot.agents[worst.agent].address, worst.report);
  const auto count = count_of(shard);
  if (count.can_serve > 0 && worst.report.condition <= MirrorCondition::ready) return text(count);
  return fmt::format("{}: {}", text(count), about);
}

std::string verdict(const Snapshot& snapshot) {
  std::string worst_text;
  std::string of_table;
  std::pair<bool, MirrorCondition> worst{};
  std::size_t troubles = 0;
  for (const auto& table : snapshot.tables) {
    if (of_table.empty() && !table.trouble.empty())
      of_table = fmt::format("table {}: {}", table.name, table.trouble);
    for (std::size_t s = 0; s < table.shards.size(); ++s) {
      const auto& shard = table.shards[s];
      if (shard.mirrors.empty()) continue;
      troubles += static_cast<std::size_t>(std::ranges::count_if(
          shard.mirrors,
          [](const MirrorStatus& mirror) { return is_trouble(mirror.report.condition); }));
      const std::pair rank{count_of(shard).can_serve == 0, worst_of(shard).report.condition};
      if ((!rank.first && !is_trouble(rank.second)) || (!worst_text.empty() && rank <= worst))
        continue;
      worst = rank;
      worst_text =
          fmt::format("table {}, shard {}: {}", table.name, s + 1, diagnosis(snapshot, shard));
    }
  }
  if (!worst.first && !of_table.empty())
    worst_text = of_table + (worst_text.empty() ? "" : "; ") + worst_text;
  if (worst_text.empty()) return "all well";
  if (troubles > 1) worst_text += fmt::format(" ({} mirrors are in trouble in all)", troubles);
  return worst_text;
}

void append_agents_json(std::string& out, const Snapshot& snapshot) {
  Document document(out);
  document.object([&] {
    document.text("version", snapshot.process.version);
    document.text("verdict", verdict(snapshot));
    write_begin(document, snapshot.process);
    write_periods(document, snapshot);
    document.objects("tables", snapshot.tables, [&](const TableStatus& table) {
      document.text("name", table.name);
      document.text("dialect", table.dialect);
      document.text("trouble", table.trouble);
      write_shards(document, snapshot, "shards", table.shards, 0);
      write_shards(document, snapshot, "blackholes", table.blackholes, table.shards.size());
    });
  });
}

}  // namespace karmad
