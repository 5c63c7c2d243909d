#include "balancer/handover/learned.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace karmad {
namespace {

LearnedMirror learned_of(const Shard& shard, std::size_t number, TimePoint now) {
  const auto& mirror = (*shard.mirrors)[number];
  const auto& protection = *shard.protection;
  LearnedMirror learned{.address = mirror.agent->name,
                        .tables = mirror.tables,
                        .memory = shard.mirrors->memory(number, now),
                        .rest = protection.unavailable.rest(number, now),
                        .standing = protection.standings.of(number)};
  if (protection.breaker) learned.failures = protection.breaker->memory(number, now);
  if (protection.outliers) {
    const auto state = protection.outliers->of(number);
    const auto rest = std::max(state.until - now, Micros{0});
    learned.ejection = {state.ejected, state.times, state.ejected ? rest : Micros{0}, state.reason};
  }
  return learned;
}

LearnedAgent learned_of(const Agent& agent) {
  const auto& counters = agent.counters;
  return {.address = agent.name,
          .errors_in_a_row = counters.errors_in_a_row.load(std::memory_order_relaxed),
          .answered = counters.answered.load(std::memory_order_relaxed),
          .ping_trip = Micros{counters.ping_trip.load(std::memory_order_relaxed)},
          .limit = agent.slots.learned(),
          .last_error = agent.last_error(),
          .last_error_at =
              std::chrono::duration_cast<Micros>(agent.last_error_at().time_since_epoch())};
}

const LearnedMirror* find_learned(const LearnedShard& shard, const Mirror& mirror) {
  const auto found = std::ranges::find_if(shard, [&](const LearnedMirror& one) {
    return one.address == mirror.agent->name && one.tables == mirror.tables;
  });
  return found == shard.end() ? nullptr : &*found;
}

using LearnedMirrors = std::vector<const LearnedMirror*>;  // by mirror; null: it was not there

/// The mirrors of the former shard that has most in common with this one.
LearnedMirrors former_mirrors(const LearnedTable& table, const MirrorSet& set) {
  LearnedMirrors best(set.size());
  const auto in_common = [](const LearnedMirrors& mirrors) {
    return std::ranges::count_if(mirrors, [](const auto* one) { return one != nullptr; });
  };
  for (const auto& shard : table.shards) {
    LearnedMirrors mirrors;
    for (std::size_t i = 0; i < set.size(); ++i) mirrors.push_back(find_learned(shard, set[i]));
    if (in_common(mirrors) > in_common(best)) best = std::move(mirrors);
  }
  return best;
}

void restore_protection(const LearnedMirror& learned, Protection& protection, std::size_t number,
                        TimePoint now) {
  const auto& [unavailable, paused] = learned.rest;
  if (unavailable > Micros{0}) protection.unavailable.mark(number, now, unavailable);
  if (paused > Micros{0}) protection.unavailable.mark_paused(number, now, paused);
  if (protection.breaker) protection.breaker->restore(number, learned.failures, now);
  if (protection.outliers)
    protection.outliers->restore(number,
                                 {.ejected = learned.ejection.ejected,
                                  .times = learned.ejection.times,
                                  .until = now + learned.ejection.rest,
                                  .reason = learned.ejection.reason},
                                 now);
  if (learned.standing.known) protection.standings.restore(number, learned.standing);
}

std::size_t restore_shard(const LearnedTable& table, Shard& shard, TimePoint now) {
  const auto mirrors = former_mirrors(table, *shard.mirrors);
  std::size_t restored = 0;
  std::vector<const MirrorLearnedState*> memories;
  for (std::size_t i = 0; i < mirrors.size(); ++i) {
    memories.push_back(mirrors[i] != nullptr ? &mirrors[i]->memory : nullptr);
    if (mirrors[i] == nullptr) continue;
    restore_protection(*mirrors[i], *shard.protection, i, now);
    ++restored;
  }
  if (restored != 0) shard.mirrors->restore(memories, now);
  return restored;
}

void restore_agent(const LearnedAgent& learned, Agent& agent) {
  agent.counters.errors_in_a_row.store(learned.errors_in_a_row, std::memory_order_relaxed);
  agent.counters.answered.store(learned.answered, std::memory_order_relaxed);
  agent.counters.ping_trip.store(learned.ping_trip.count(), std::memory_order_relaxed);
  if (learned.limit) agent.slots.restore(*learned.limit);
  if (learned.last_error.empty()) return;
  const std::chrono::system_clock::time_point at(learned.last_error_at);
  agent.last_error(learned.last_error,
                   learned.last_error_at > Micros{0} ? at : std::chrono::system_clock::now());
}

}  // namespace

Learned collect_learned(const Topology& topology, const Admission& admission, TimePoint now) {
  Learned learned;
  for (const auto& table : topology.tables) {
    auto& of = learned.tables.emplace_back(LearnedTable{.name = table->name});
    for (const auto& shard : table->shards) {
      auto& mirrors = of.shards.emplace_back();
      for (std::size_t i = 0; i < shard->mirrors->size(); ++i)
        mirrors.push_back(learned_of(*shard, i, now));
    }
  }
  for (const auto& agent : topology.agents) learned.agents.push_back(learned_of(*agent));
  if (const auto probing = admission.probing(); probing.reads || probing.writes)
    learned.tickets = LearnedTickets{probing.stable_concurrency, probing.stable_throughput};
  return learned;
}

std::size_t restore_learned(const Learned& learned, const Topology& topology, Admission& admission,
                            TimePoint now) {
  for (const auto& agent : topology.agents) {
    const auto found = std::ranges::find(learned.agents, agent->name, &LearnedAgent::address);
    if (found != learned.agents.end()) restore_agent(*found, *agent);
  }
  std::size_t restored = 0;
  for (const auto& table : topology.tables) {
    const auto found = std::ranges::find(learned.tables, table->name, &LearnedTable::name);
    if (found == learned.tables.end()) continue;
    for (const auto& shard : table->shards) restored += restore_shard(*found, *shard, now);
  }
  const auto probing = admission.probing();
  if (learned.tickets && (probing.reads || probing.writes) && learned.tickets->concurrency > 0)
    admission.restore_probing(learned.tickets->concurrency, learned.tickets->throughput,
                              topology.settings, now);
  return restored;
}

std::vector<std::string> shards_lost(const Learned& learned, const Topology& topology,
                                     const Settings& settings) {
  const auto served = [&](const LearnedMirror& mirror) {
    const auto agent = std::ranges::find(learned.agents, mirror.address, &LearnedAgent::address);
    return agent != learned.agents.end() && (agent->answered || agent->errors_in_a_row == 0);
  };
  std::vector<std::string> lost;
  for (const auto& table : learned.tables) {
    const auto here =
        std::ranges::find(topology.tables, table.name, [](const auto& one) { return one->name; });
    const auto configured = std::ranges::find(settings.tables, table.name, &TableSettings::name);
    if (here == topology.tables.end() || configured == settings.tables.end()) continue;
    const auto& shards = (*here)->shards;
    for (std::size_t s = 0; s < table.shards.size(); ++s) {
      if (s >= shards.size() && !configured->discovery) break;
      if (std::ranges::none_of(table.shards[s], served)) continue;
      std::optional<std::string> why =
          s < shards.size() ? std::nullopt : std::optional<std::string>("not found");
      for (std::size_t i = 0; s < shards.size() && i < shards[s]->mirrors->size(); ++i) {
        why = (*shards[s]->mirrors)[i].agent->unresolved();
        if (!why) break;
      }
      if (why) lost.push_back(fmt::format("table {}, shard {}: {}", table.name, s + 1, *why));
    }
  }
  return lost;
}

}  // namespace karmad
