#include "balancer/status/readiness.hpp"

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>

#include "balancer/shard/selection.hpp"
#include "balancer/status/json_text.hpp"

namespace karmad {

bool live(const Agent& agent, const InstanceSettings& settings) {
  const auto& vitals = agent.vitals;
  const bool known = vitals.answered.load(std::memory_order_relaxed) ||
                     settings.ha_ping_interval.value == Micros{0};
  return known &&
         vitals.errors_in_a_row.load(std::memory_order_relaxed) <= settings.dead_after.value;
}

namespace {

/// Whether a search that gives no read preference would find a mirror.
bool serves(const Table& table, const Shard& shard, const InstanceSettings& settings,
            unsigned worker) {
  const auto& mirrors = *shard.mirrors;
  const Selection selection(std::nullopt, table, settings, Operation::read);
  if (const auto* need = selection.at(shard))
    return !suitable_for(*need, mirrors.view(worker)->picture, Candidates::first(mirrors.size()))
                .empty();
  for (std::size_t m = 0; m < mirrors.size(); ++m)
    if (live(*mirrors[m].agent, settings)) return true;
  return false;
}

}  // namespace

std::pair<bool, std::string> readiness(const Topology& topology, const Process& process,
                                       unsigned worker) {
  bool ready = !process.draining.load(std::memory_order_relaxed);
  rapidjson::StringBuffer json;
  rapidjson::Writer<rapidjson::StringBuffer> writer(json);
  const auto string = [&writer](std::string_view text) { writer.String(clean_utf8(text)); };
  writer.StartObject();
  writer.Key("draining");
  writer.Bool(!ready);
  writer.Key("missing");
  writer.StartArray();
  for (const auto& table : topology.tables)
    for (std::size_t s = 0; s < table->shards.size(); ++s) {
      const auto& mirrors = *table->shards[s]->mirrors;
      if (serves(*table, *table->shards[s], topology.settings, worker)) continue;
      ready = false;
      writer.StartObject();
      writer.Key("table");
      string(table->name);
      writer.Key("shard");
      writer.Uint64(s + 1);
      writer.Key("mirrors");
      writer.StartArray();
      for (std::size_t m = 0; m < mirrors.size(); ++m) {
        const auto& agent = *mirrors[m].agent;
        writer.StartObject();
        writer.Key("agent");
        string(agent.name);
        writer.Key("why");
        const auto error = agent.last_error();
        string(error.empty() ? "has not answered yet" : error);
        writer.EndObject();
      }
      writer.EndArray();
      writer.EndObject();
    }
  writer.EndArray();
  writer.Key("ready");
  writer.Bool(ready);
  writer.EndObject();
  return {ready, {json.GetString(), json.GetSize()}};
}

}  // namespace karmad
