#include "balancer/status/readiness.hpp"

#include <fmt/format.h>

#include <ranges>

#include "agent/stats/document.hpp"
#include "balancer/selection/selection.hpp"

namespace karmad {

bool live(const Agent& agent, const HealthSettings& settings) {
  const auto& counters = agent.counters;
  const bool known = counters.answered.load(std::memory_order_relaxed) ||
                     settings.ha_ping_interval.value == Micros{0};
  return known &&
         counters.errors_in_a_row.load(std::memory_order_relaxed) <= settings.dead_after.value;
}

namespace {

/// Whether a search without a read preference would find a mirror.
bool serves(const Table& table, const Shard& shard, const InstanceSettings& settings,
            unsigned worker) {
  const auto& mirrors = *shard.mirrors;
  const Selection selection(std::nullopt, table, settings, SelectionClass::may_use_secondary);
  const auto in_service = Candidates::first(mirrors.size()) - mirrors.out_of_service().all();
  if (const auto* need = selection.at(shard))
    return !suitable_for(*need, mirrors.view(worker)->picture, in_service).empty();
  for (const auto m : in_service)
    if (live(*mirrors[m].agent, settings)) return true;
  return false;
}

}  // namespace

std::pair<bool, std::string> readiness(const Topology& topology, bool draining, unsigned worker,
                                       const Table* only) {
  bool ready = !draining;
  const bool hides = topology.settings.status_on_query_port.value != StatusOnQueryPort::yes;
  std::string body;
  const auto shard = [&](Document& out, const Table& table, std::size_t number) {
    const bool counts = table.required || only != nullptr;
    if (counts) ready = false;
    const auto& mirrors = *table.shards[number]->mirrors;
    out.object([&] {
      out.text("table", table.name);
      out.value("shard", number + 1);
      out.value("required", counts);
      out.array("mirrors", std::views::iota(std::size_t{0}, mirrors.size()), [&](std::size_t m) {
        const auto& agent = *mirrors[m].agent;
        const auto error = agent.last_error();
        const bool is_out = mirrors.out_of_service().all().contains(m) && !agent.absent();
        out.object([&] {
          out.text("agent", hides ? fmt::format("mirror {}", m + 1) : agent.name);
          out.text("why", is_out          ? "taken out by the operator (drain, maint)"
                          : error.empty() ? "has not answered yet"
                          : hides         ? "its last request failed"
                                          : error);
        });
      });
    });
  };
  {
    Document out(body);
    out.object([&] {
      out.value("draining", draining);
      if (only != nullptr) out.text("table", only->name);
      out.array("missing", topology.tables, [&](const auto& table) {
        if (only != nullptr && table.get() != only) return;
        for (std::size_t s = 0; s < table->shards.size(); ++s)
          if (!serves(*table, *table->shards[s], topology.settings, worker)) shard(out, *table, s);
      });
      out.value("ready", ready);
    });
  }
  return {ready, std::move(body)};
}

}  // namespace karmad
