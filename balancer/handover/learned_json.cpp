#include "balancer/handover/learned.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <ranges>

#include "agent/json/json_tree.hpp"
#include "agent/stats/document.hpp"

// The text in which a process hands over what it has learned.

namespace karmad {
namespace {

/// Only buckets with samples: `[bucket, count, bucket, count …]`.
void put_latencies(Document& out, const LatencyCounts& counts) {
  out.array("latencies", std::views::iota(std::size_t{0}, counts.size()), [&](std::size_t bucket) {
    if (counts[bucket] == 0) return;
    out.value(bucket);
    out.value(counts[bucket]);
  });
}

void put_memory(Document& out, const MirrorLearnedState& memory) {
  out.value("karma", memory.karma);
  if (memory.description) {
    out.text("description", text(*memory.description));
    out.value("trip_us", memory.trip.count());
  }
  const auto& signals = memory.signals;
  out.value("latency", signals.latency);
  out.value("penalty", signals.penalty);
  out.value("load", signals.load);
  out.value("failures_in_a_row", signals.failures_in_a_row);
  out.value("answers_since_start", signals.answers_since_start);
  if (signals.starting_for) out.value("starting_for_us", signals.starting_for->count());
  put_latencies(out, memory.latencies);
}

void put_protection(Document& out, const LearnedMirror& mirror) {
  out.value("unavailable_us", mirror.rest.unavailable.count());
  out.value("paused_us", mirror.rest.paused.count());
  out.array("failures", mirror.failures, [&](const auto& failures) {
    out.value(failures.count);
    out.value(failures.since_last.count());
  });
  const auto& ejection = mirror.ejection;
  out.value("ejected", ejection.ejected);
  out.value("ejections", ejection.times);
  out.value("ejected_us", ejection.rest.count());
  out.text("ejected_for", ejection.reason);
  const auto& standing = mirror.standing;
  out.value("asked", standing.known);
  out.value("unreachable", standing.unreachable);
  out.value("answers_in_a_row", standing.answers);
  out.value("answers_needed", standing.needed);
}

void put_mirror(Document& out, const LearnedMirror& mirror) {
  out.object([&] {
    out.text("address", mirror.address);
    out.array("tables", mirror.tables, [&](const auto& table) { out.text(table); });
    put_memory(out, mirror.memory);
    put_protection(out, mirror);
  });
}

void put_table(Document& out, const LearnedTable& table) {
  out.text("name", table.name);
  out.array("shards", table.shards, [&](const auto& shard) {
    out.array(shard, [&](const auto& mirror) { put_mirror(out, mirror); });
  });
}

void put_agent(Document& out, const LearnedAgent& agent) {
  out.text("address", agent.address);
  out.value("errors_in_a_row", agent.errors_in_a_row);
  out.value("answered", agent.answered);
  out.value("ping_trip_us", agent.ping_trip.count());
  if (agent.limit) {
    out.value("limit", agent.limit->limit);
    out.value("baseline_us", agent.limit->baseline.count());
  }
  out.text("last_error", agent.last_error);
  out.value("last_error_at_us", agent.last_error_at.count());
}

constexpr Micros kYear = std::chrono::hours(24 * 365);

/// The members of a JSON object; a missing or wrong one is the default.
class LearnedMembers {
 public:
  explicit LearnedMembers(const rapidjson::Value& object) : object_(&object) {}

  std::string text(std::string_view name) const { return std::string(text_member(*object_, name)); }
  bool flag(std::string_view name) const {
    const auto* found = member_of(object_, name);
    return found != nullptr && found->IsTrue();
  }
  /// Finite and not negative; else 0.
  double number(std::string_view name) const {
    const auto* found = member_of(object_, name);
    const auto value = found != nullptr && found->IsNumber() ? found->GetDouble() : 0;
    return std::isfinite(value) && value > 0 ? value : 0;
  }
  template <class Whole = std::uint32_t>
  Whole whole(std::string_view name) const {
    constexpr auto kMost = static_cast<double>(std::numeric_limits<Whole>::max());
    return static_cast<Whole>(std::min(number(name), kMost));
  }
  /// At most a year.
  Micros time(std::string_view name, Micros longest = kYear) const {
    const auto most = static_cast<double>(longest.count());
    return Micros{static_cast<Micros::rep>(std::min(number(name), most))};
  }
  bool has(std::string_view name) const { return member_of(object_, name) != nullptr; }
  std::span<const rapidjson::Value> list(std::string_view name) const {
    return list_member(*object_, name);
  }
  /// The whole numbers of an array; others are 0.
  std::vector<std::uint64_t> numbers(std::string_view name) const {
    std::vector<std::uint64_t> numbers;
    for (const auto& one : list(name)) numbers.push_back(one.IsUint64() ? one.GetUint64() : 0);
    return numbers;
  }

 private:
  const rapidjson::Value* object_;
};

MirrorLearnedState memory_in(const LearnedMembers& members) {
  MirrorLearnedState memory{.karma = members.number("karma")};
  if (members.has("description")) {
    auto description = parse_description(members.text("description"));
    if (description) memory.description = *std::move(description);
    memory.trip = members.time("trip_us");
  }
  const auto real = [&](std::string_view name) { return static_cast<float>(members.number(name)); };
  memory.signals = {.latency = real("latency"),
                    .penalty = real("penalty"),
                    .load = std::min(real("load"), 1.0F),
                    .failures_in_a_row = members.whole("failures_in_a_row"),
                    .answers_since_start = members.whole("answers_since_start")};
  if (members.has("starting_for_us")) memory.signals.starting_for = members.time("starting_for_us");
  const auto latencies = members.numbers("latencies");
  for (std::size_t i = 0; i + 1 < latencies.size(); i += 2)
    if (latencies[i] < memory.latencies.size())
      memory.latencies[latencies[i]] =
          std::min<std::uint64_t>(latencies[i + 1], std::numeric_limits<std::uint32_t>::max());
  return memory;
}

LearnedMirror mirror_in(const rapidjson::Value& value) {
  const LearnedMembers members(value);
  LearnedMirror mirror{.address = members.text("address"), .memory = memory_in(members)};
  for (const auto& name : members.list("tables")) mirror.tables.emplace_back(text_of(&name));
  mirror.rest = {members.time("unavailable_us"), members.time("paused_us")};
  const auto failures = members.numbers("failures");
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
  for (std::size_t i = 0; i < mirror.failures.size() && 2 * i + 1 < failures.size(); ++i)
    mirror.failures[i] = {
        static_cast<std::uint32_t>(std::min(failures[2 * i], kMost)),
        Micros{static_cast<Micros::rep>(std::min(failures[2 * i + 1], std::uint64_t{1} << 50))}};
  mirror.ejection = {members.flag("ejected"), members.whole("ejections"),
                     members.time("ejected_us"), members.text("ejected_for")};
  mirror.standing = {.known = members.flag("asked"),
                     .unreachable = members.flag("unreachable"),
                     .answers = members.whole<std::uint8_t>("answers_in_a_row"),
                     .needed = members.whole<std::uint8_t>("answers_needed")};
  return mirror;
}

LearnedTable table_in(const rapidjson::Value& value) {
  const LearnedMembers members(value);
  LearnedTable table{.name = members.text("name")};
  for (const auto& shard : members.list("shards")) {
    auto& mirrors = table.shards.emplace_back();
    for (const auto& mirror : elements_of(&shard)) mirrors.push_back(mirror_in(mirror));
  }
  return table;
}

LearnedAgent agent_in(const rapidjson::Value& value) {
  const LearnedMembers members(value);
  LearnedAgent agent{.address = members.text("address"),
                     .errors_in_a_row = members.whole("errors_in_a_row"),
                     .answered = members.flag("answered"),
                     .ping_trip = members.time("ping_trip_us"),
                     .last_error = members.text("last_error"),
                     .last_error_at = members.time("last_error_at_us", 200 * kYear)};
  if (members.has("limit"))
    agent.limit = ConcurrencyLimit::Learned{members.number("limit"), members.time("baseline_us")};
  return agent;
}

}  // namespace

std::string to_json(const Learned& learned) {
  return json_object([&](Document& out) {
    out.value("version", kLearnedVersion);
    out.text("karmad", KARMAD_VERSION);
    out.objects("tables", learned.tables, [&](const auto& table) { put_table(out, table); });
    out.objects("agents", learned.agents, [&](const auto& agent) { put_agent(out, agent); });
    if (learned.tickets)
      out.object("tickets", [&] {
        out.value("concurrency", learned.tickets->concurrency);
        out.value("throughput", learned.tickets->throughput);
      });
    if (!learned.overrides.empty()) out.text("overrides", learned.overrides);
  });
}

std::expected<Learned, std::string> parse_learned(std::string_view json) {
  const auto parsed = tree_of(json);
  if (parsed.HasParseError() || !parsed.IsObject()) return std::unexpected("it is no JSON object");
  const LearnedMembers members(parsed);
  if (const auto version = members.whole("version"); version != kLearnedVersion)
    return std::unexpected(fmt::format("it has version {}, karmad {} reads version {}", version,
                                       KARMAD_VERSION, kLearnedVersion));
  Learned learned{.overrides = members.text("overrides")};
  for (const auto& table : members.list("tables")) learned.tables.push_back(table_in(table));
  for (const auto& agent : members.list("agents")) learned.agents.push_back(agent_in(agent));
  if (const auto* tickets = member_of(&parsed, "tickets")) {
    const LearnedMembers numbers(*tickets);
    learned.tickets = LearnedTickets{numbers.number("concurrency"), numbers.number("throughput")};
  }
  return learned;
}

}  // namespace karmad
