#include "balancer/handover/learned.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <ranges>

#include "agent/json/json_tree.hpp"
#include "agent/stats/document.hpp"

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

namespace {

constexpr Micros kYear = std::chrono::hours(24 * 365);

/// Writes members of an object.
class LearnedOut {
 public:
  explicit LearnedOut(Document& out) : out_(out) {}

  void operator()(std::string_view name, const std::string& text) const { out_.text(name, text); }
  void operator()(std::string_view name, const auto& number) const { out_.value(name, number); }
  void operator()(std::string_view name, Micros time, Micros /*longest*/ = {}) const {
    out_.value(name, time.count());
  }
  void operator()(std::string_view name, const std::vector<std::string>& texts) const {
    out_.array(name, texts, [&](const auto& text) { out_.text(text); });
  }
  void operator()(std::string_view name, const std::optional<Description>& description) const {
    if (description) out_.text(name, text(*description));
  }
  /// Only buckets with samples: `[bucket, count, bucket, count …]`.
  void operator()(std::string_view name, const LatencyCounts& counts) const {
    out_.array(name, std::views::iota(std::size_t{0}, counts.size()), [&](std::size_t bucket) {
      if (counts[bucket] == 0) return;
      out_.value(bucket);
      out_.value(counts[bucket]);
    });
  }
  void operator()(std::string_view name, const Breaker::Memories& memories) const {
    out_.array(name, memories, [&](const auto& failures) {
      out_.value(failures.count);
      out_.value(failures.since_last.count());
    });
  }
  /// Whether the value has the member of that name.
  template <class T>
  bool has(std::string_view, const std::optional<T>& value) const {
    return value.has_value();
  }

 private:
  Document& out_;
};

/// Reads members of a JSON object; a missing or wrong one is the default.
class LearnedIn {
 public:
  explicit LearnedIn(const rapidjson::Value& object) : object_(&object) {}

  void operator()(std::string_view name, std::string& text) const {
    text = text_member(*object_, name);
  }
  void operator()(std::string_view name, bool& flag) const {
    const auto* found = member_of(object_, name);
    flag = found != nullptr && found->IsTrue();
  }
  template <class Number>
  requires std::is_arithmetic_v<Number>
  void operator()(std::string_view name, Number& number) const {
    number = static_cast<Number>(up_to(std::numeric_limits<Number>::max(), name));
  }
  void operator()(std::string_view name, Micros& time, Micros longest = kYear) const {
    time = Micros{static_cast<Micros::rep>(up_to(longest.count(), name))};
  }
  void operator()(std::string_view name, std::vector<std::string>& texts) const {
    for (const auto& text : list_member(*object_, name)) texts.emplace_back(text_of(&text));
  }
  void operator()(std::string_view name, std::optional<Description>& description) const {
    if (auto read = parse_description(text_member(*object_, name))) description = *std::move(read);
  }
  void operator()(std::string_view name, LatencyCounts& counts) const {
    const auto numbers = whole_numbers(name);
    for (std::size_t i = 0; i + 1 < numbers.size(); i += 2)
      if (numbers[i] < counts.size()) counts[numbers[i]] = std::min(numbers[i + 1], kMostCount);
  }
  void operator()(std::string_view name, Breaker::Memories& memories) const {
    const auto numbers = whole_numbers(name);
    for (std::size_t i = 0; i < memories.size() && 2 * i + 1 < numbers.size(); ++i)
      memories[i] = {
          static_cast<std::uint32_t>(std::min(numbers[2 * i], kMostCount)),
          Micros{static_cast<Micros::rep>(std::min(numbers[2 * i + 1], std::uint64_t{1} << 50))}};
  }
  /// Whether it has the member; the value exists then.
  template <class T>
  bool has(std::string_view name, std::optional<T>& value) const {
    if (member_of(object_, name) != nullptr) value.emplace();
    return value.has_value();
  }

 private:
  static constexpr std::uint64_t kMostCount = std::numeric_limits<std::uint32_t>::max();

  /// Finite and not negative; else 0.
  double up_to(auto most, std::string_view name) const {
    const auto* found = member_of(object_, name);
    const auto value = found != nullptr && found->IsNumber() ? found->GetDouble() : 0;
    return std::isfinite(value) && value > 0 ? std::min(value, static_cast<double>(most)) : 0;
  }
  /// Those of an array; others are 0.
  std::vector<std::uint64_t> whole_numbers(std::string_view name) const {
    std::vector<std::uint64_t> numbers;
    for (const auto& one : list_member(*object_, name))
      numbers.push_back(one.IsUint64() ? one.GetUint64() : 0);
    return numbers;
  }

  const rapidjson::Value* object_;
};

// The members of each value, in the order of the text; `io` writes or reads them.

void mirror_members(const auto& io, auto& mirror) {
  io("address", mirror.address);
  io("tables", mirror.tables);
  auto& memory = mirror.memory;
  io("karma", memory.karma);
  io("description", memory.description);
  if (memory.description) io("trip_us", memory.trip);
  auto& signals = memory.signals;
  io("latency", signals.latency);
  io("penalty", signals.penalty);
  io("load", signals.load);
  io("failures_in_a_row", signals.failures_in_a_row);
  io("answers_since_start", signals.answers_since_start);
  if (io.has("starting_for_us", signals.starting_for)) io("starting_for_us", *signals.starting_for);
  io("latencies", memory.latencies);
  io("unavailable_us", mirror.rest.unavailable);
  io("paused_us", mirror.rest.paused);
  io("failures", mirror.failures);
  io("ejected", mirror.ejection.ejected);
  io("ejections", mirror.ejection.times);
  io("ejected_us", mirror.ejection.rest);
  io("ejected_for", mirror.ejection.reason);
  io("asked", mirror.standing.known);
  io("unreachable", mirror.standing.unreachable);
  io("answers_in_a_row", mirror.standing.answers);
  io("answers_needed", mirror.standing.needed);
}

void agent_members(const auto& io, auto& agent) {
  io("address", agent.address);
  io("errors_in_a_row", agent.errors_in_a_row);
  io("answered", agent.answered);
  io("ping_trip_us", agent.ping_trip);
  if (io.has("limit", agent.limit)) {
    io("limit", agent.limit->limit);
    io("baseline_us", agent.limit->baseline);
  }
  io("last_error", agent.last_error);
  io("last_error_at_us", agent.last_error_at, 200 * kYear);
}

void ticket_members(const auto& io, auto& tickets) {
  io("concurrency", tickets.concurrency);
  io("throughput", tickets.throughput);
}

void put_table(Document& out, const LearnedTable& table) {
  out.text("name", table.name);
  out.array("shards", table.shards, [&](const auto& shard) {
    out.array(shard, [&](const auto& mirror) {
      out.object([&] { mirror_members(LearnedOut(out), mirror); });
    });
  });
}

LearnedTable table_in(const rapidjson::Value& value) {
  LearnedTable table{.name = std::string(text_member(value, "name"))};
  for (const auto& shard : list_member(value, "shards")) {
    auto& mirrors = table.shards.emplace_back();
    for (const auto& mirror : elements_of(&shard)) {
      mirror_members(LearnedIn(mirror), mirrors.emplace_back());
      auto& load = mirrors.back().memory.signals.load;
      load = std::min(load, 1.0F);
    }
  }
  return table;
}

}  // namespace

std::string to_json(const Learned& learned) {
  return json_object([&](Document& out) {
    const LearnedOut io(out);
    out.value("version", kLearnedVersion);
    out.text("karmad", KARMAD_VERSION);
    out.objects("tables", learned.tables, [&](const auto& table) { put_table(out, table); });
    out.objects("agents", learned.agents, [&](const auto& agent) { agent_members(io, agent); });
    if (learned.tickets) out.object("tickets", [&] { ticket_members(io, *learned.tickets); });
    if (!learned.overrides.empty()) out.text("overrides", learned.overrides);
  });
}

std::expected<Learned, std::string> parse_learned(std::string_view json) {
  const auto parsed = tree_of(json);
  if (parsed.HasParseError() || !parsed.IsObject()) return std::unexpected("it is no JSON object");
  std::uint32_t version = 0;
  const LearnedIn members(parsed);
  members("version", version);
  if (version != kLearnedVersion)
    return std::unexpected(fmt::format("it has version {}, karmad {} reads version {}", version,
                                       KARMAD_VERSION, kLearnedVersion));
  Learned learned{.overrides = std::string(text_member(parsed, "overrides"))};
  for (const auto& table : list_member(parsed, "tables")) learned.tables.push_back(table_in(table));
  for (const auto& agent : list_member(parsed, "agents"))
    agent_members(LearnedIn(agent), learned.agents.emplace_back());
  if (const auto* tickets = member_of(&parsed, "tickets"))
    ticket_members(LearnedIn(*tickets), learned.tickets.emplace());
  return learned;
}

}  // namespace karmad
