#include "balancer/status/agents_json.hpp"

#include "balancer/status/document.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace karmad {
namespace {

void write_totals(Document& out, const Totals& totals) {
  for (std::size_t i = 0; i < kCounters; ++i)
    out.count(name(static_cast<Counter>(i)), totals.counts[i]);
  out.count("queries", totals.queries);
  out.milliseconds("query_ms_mean", mean_query_time(totals));
  out.count("connect_count", totals.connects);
  out.milliseconds("connect_ms_mean", mean_connect_time(totals));
  const bool connected = totals.connects > 0;
  out.milliseconds("connect_ms_max", connected ? std::optional{totals.connect_max} : std::nullopt);
}

std::string_view state(const MirrorStatus& mirror, const AgentStatus& agent) {
  if (mirror.blackhole) return "blackhole";  // its answers are dropped
  if (!agent.last_answer) return "unknown";
  if (!agent.alive) return "dead";
  return agent.errors_in_a_row > 0 ? "failing" : "alive";
}

void write_agent(Document& out, const AgentStatus& agent) {
  out.count("errors_in_a_row", agent.errors_in_a_row);
  out.text("last_error", agent.last_error);
  out.flag("pinged", agent.pinged);
  out.milliseconds("ping_ms", agent.ping_trip);
  out.count("in_flight", agent.in_flight);
  out.optional("max_in_flight", agent.max_in_flight == 0
                                    ? std::nullopt
                                    : std::optional<std::uint64_t>(agent.max_in_flight));
  out.count("open_connections", agent.open_connections);
  out.count("waiting", agent.waiting);
  out.seconds("last_query_s", agent.last_query);
  out.seconds("last_answer_s", agent.last_answer);
  out.object("latency_ms", [&] {
    out.milliseconds("mean", mean_query_time(agent.periods.front()));
    out.milliseconds("p50", agent.latency.p50);
    out.milliseconds("p95", agent.latency.p95);
    out.milliseconds("p99", agent.latency.p99);
  });
  out.object("periods", [&] {
    for (std::size_t i = 0; i < kShownPeriods.size(); ++i)
      out.object(fmt::format("{}", kShownPeriods[i]), [&] { write_totals(out, agent.periods[i]); });
  });
}

void write_standing(Document& out, const Standing& standing) {
  out.text("role", standing.role);
  out.text("tags", standing.tags);
  out.milliseconds("staleness_ms", standing.staleness);
  out.optional("generation", standing.generation);
  out.milliseconds("rtt_ms", standing.rtt);
  out.milliseconds("rtt_ms_least", standing.least_rtt);
  out.optional("load", standing.load);
  out.text("unsuitable", standing.unsuitable);
}

void write_mirror(Document& out, const Snapshot& snapshot, std::size_t number,
                  const MirrorStatus& mirror) {
  out.object([&] {
    out.count("mirror", number);
    const AgentStatus& agent = snapshot.agents[mirror.agent];
    out.text("address", agent.address);
    out.array("tables", mirror.tables, [&](const auto& table) { out.text(table); });
    out.text("state", state(mirror, agent));
    out.share("weight", mirror.weight);
    out.share("probability", mirror.probability);
    out.flag("persistent", mirror.persistent);
    out.flag("blackhole", mirror.blackhole);
    if (!mirror.blackhole) write_standing(out, mirror.standing);
    write_agent(out, agent);
    out.object("since_start", [&] {
      out.count("attempts", mirror.attempts);
      write_totals(out, mirror.since_start);
    });
  });
}

/// Shards are numbered on from `number`.
void write_shards(Document& out, const Snapshot& snapshot, std::string_view key,
                  const std::vector<ShardStatus>& shards, std::size_t number) {
  out.array(key, shards, [&](const ShardStatus& shard) {
    out.object([&] {
      out.count("shard", ++number);
      out.text("strategy", shard.strategy);
      if (!shard.kind.empty()) {
        out.text("kind", shard.kind);
        out.flag("mixed", shard.mixed);
        out.text("criteria", shard.criteria);
        out.object("retry_budget", [&] {
          out.count("live", shard.budget.live);
          out.count("extras", shard.budget.extras);
          out.count("saved", shard.budget.saved);
          out.count("given", shard.budget.given);
          out.count("refused", shard.budget.refused);
        });
      }
      if (!shard.kind.empty())
        out.object("max_in_flight", [&] {
          out.count("waiting", shard.line.waiting);
          out.count("waited", shard.line.waited);
          out.count("refused", shard.line.refused);
          out.milliseconds("waited_ms", shard.line.time);
        });
      std::size_t mirrors = 0;
      out.array("mirrors", shard.mirrors, [&](const MirrorStatus& mirror) {
        write_mirror(out, snapshot, ++mirrors, mirror);
      });
    });
  });
}

}  // namespace

void append_agents_json(std::string& out, const Snapshot& snapshot) {
  Document document(out);
  document.object([&] {
    document.text("version", snapshot.process.version);
    document.seconds("uptime_s", snapshot.process.uptime);
    document.seconds("period_s", snapshot.period);
    document.count("stored_periods", snapshot.stored_periods);
    document.array("tables", snapshot.tables, [&](const TableStatus& table) {
      document.object([&] {
        document.text("name", table.name);
        document.text("dialect", table.dialect);
        write_shards(document, snapshot, "shards", table.shards, 0);
        write_shards(document, snapshot, "blackholes", table.blackholes, table.shards.size());
      });
    });
  });
}

}  // namespace karmad
