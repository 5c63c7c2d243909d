#include "balancer/handover/learned.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "agent/json/json_tree.hpp"

// The text in which a process hands over what it has learned.

namespace karmad {
namespace {

using LearnedWriter = rapidjson::Writer<rapidjson::StringBuffer>;

void put_text(LearnedWriter& out, const char* name, std::string_view text) {
  out.Key(name);
  out.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
}

void put_number(LearnedWriter& out, const char* name, double value) {
  out.Key(name);
  out.Double(std::isfinite(value) ? value : 0);
}

void put_whole(LearnedWriter& out, const char* name, std::int64_t value) {
  out.Key(name);
  out.Int64(value);
}

void put_flag(LearnedWriter& out, const char* name, bool value) {
  out.Key(name);
  out.Bool(value);
}

/// Only buckets with samples: `[bucket, count, bucket, count …]`.
void put_latencies(LearnedWriter& out, const LatencyCounts& counts) {
  out.Key("latencies");
  out.StartArray();
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) continue;
    out.Uint64(i);
    out.Uint64(counts[i]);
  }
  out.EndArray();
}

void put_memory(LearnedWriter& out, const MirrorLearnedState& memory) {
  put_number(out, "karma", memory.karma);
  if (memory.description) {
    put_text(out, "description", text(*memory.description));
    put_whole(out, "trip_us", memory.trip.count());
  }
  const auto& signals = memory.signals;
  put_number(out, "latency", signals.latency);
  put_number(out, "penalty", signals.penalty);
  put_number(out, "load", signals.load);
  put_whole(out, "failures_in_a_row", signals.failures_in_a_row);
  put_whole(out, "answers_since_start", signals.answers_since_start);
  if (signals.starting_for) put_whole(out, "starting_for_us", signals.starting_for->count());
  put_latencies(out, memory.latencies);
}

void put_protection(LearnedWriter& out, const LearnedMirror& mirror) {
  put_whole(out, "unavailable_us", mirror.rest.unavailable.count());
  put_whole(out, "paused_us", mirror.rest.paused.count());
  out.Key("failures");
  out.StartArray();
  for (const auto& failures : mirror.failures) {
    out.Uint(failures.count);
    out.Int64(failures.since_last.count());
  }
  out.EndArray();
  const auto& ejection = mirror.ejection;
  put_flag(out, "ejected", ejection.ejected);
  put_whole(out, "ejections", ejection.times);
  put_whole(out, "ejected_us", ejection.rest.count());
  put_text(out, "ejected_for", ejection.reason);
  const auto& standing = mirror.standing;
  put_flag(out, "asked", standing.known);
  put_flag(out, "unreachable", standing.unreachable);
  put_whole(out, "answers_in_a_row", standing.answers);
  put_whole(out, "answers_needed", standing.needed);
}

void put_mirror(LearnedWriter& out, const LearnedMirror& mirror) {
  out.StartObject();
  put_text(out, "address", mirror.address);
  out.Key("tables");
  out.StartArray();
  for (const auto& table : mirror.tables) out.String(table);
  out.EndArray();
  put_memory(out, mirror.memory);
  put_protection(out, mirror);
  out.EndObject();
}

void put_table(LearnedWriter& out, const LearnedTable& table) {
  out.StartObject();
  put_text(out, "name", table.name);
  out.Key("shards");
  out.StartArray();
  for (const auto& shard : table.shards) {
    out.StartArray();
    for (const auto& mirror : shard) put_mirror(out, mirror);
    out.EndArray();
  }
  out.EndArray();
  out.EndObject();
}

void put_agent(LearnedWriter& out, const LearnedAgent& agent) {
  out.StartObject();
  put_text(out, "address", agent.address);
  put_whole(out, "errors_in_a_row", agent.errors_in_a_row);
  put_flag(out, "answered", agent.answered);
  put_whole(out, "ping_trip_us", agent.ping_trip.count());
  if (agent.limit) {
    put_number(out, "limit", agent.limit->limit);
    put_whole(out, "baseline_us", agent.limit->baseline.count());
  }
  put_text(out, "last_error", agent.last_error);
  put_whole(out, "last_error_at_us", agent.last_error_at.count());
  out.EndObject();
}

constexpr Micros kYear = std::chrono::hours(24 * 365);

/// The members of a JSON object; a missing or wrong one is the default.
class LearnedMembers {
 public:
  explicit LearnedMembers(const rapidjson::Value& object) : object_(&object) {}

  std::string text(std::string_view name) const {
    return std::string(text_of(member_of(object_, name)));
  }
  bool flag(std::string_view name) const {
    const auto* found = member_of(object_, name);
    return found != nullptr && found->IsBool() && found->GetBool();
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
  /// Calls `take` for each element of an array; for none if it is something else.
  template <class Take>
  void each(std::string_view name, Take take) const {
    const auto* found = member_of(object_, name);
    if (found == nullptr || !found->IsArray()) return;
    for (const auto& element : found->GetArray()) take(element);
  }
  /// The whole numbers of an array; others are 0.
  std::vector<std::uint64_t> numbers(std::string_view name) const {
    std::vector<std::uint64_t> numbers;
    each(name, [&](const auto& one) { numbers.push_back(one.IsUint64() ? one.GetUint64() : 0); });
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
  members.each("tables", [&](const auto& name) { mirror.tables.emplace_back(text_of(&name)); });
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
  members.each("shards", [&](const auto& shard) {
    auto& mirrors = table.shards.emplace_back();
    if (!shard.IsArray()) return;
    for (const auto& mirror : shard.GetArray()) mirrors.push_back(mirror_in(mirror));
  });
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
  rapidjson::StringBuffer buffer;
  LearnedWriter out(buffer);
  out.StartObject();
  put_whole(out, "version", kLearnedVersion);
  put_text(out, "karmad", KARMAD_VERSION);
  out.Key("tables");
  out.StartArray();
  for (const auto& table : learned.tables) put_table(out, table);
  out.EndArray();
  out.Key("agents");
  out.StartArray();
  for (const auto& agent : learned.agents) put_agent(out, agent);
  out.EndArray();
  if (learned.tickets) {
    out.Key("tickets");
    out.StartObject();
    put_number(out, "concurrency", learned.tickets->concurrency);
    put_number(out, "throughput", learned.tickets->throughput);
    out.EndObject();
  }
  if (!learned.overrides.empty()) put_text(out, "overrides", learned.overrides);
  out.EndObject();
  return {buffer.GetString(), buffer.GetSize()};
}

std::expected<Learned, std::string> parse_learned(std::string_view json) {
  rapidjson::Document parsed;
  parsed.Parse<rapidjson::kParseIterativeFlag>(json.data(), json.size());  // no recursion
  if (parsed.HasParseError() || !parsed.IsObject()) return std::unexpected("it is no JSON object");
  const LearnedMembers members(parsed);
  if (const auto version = members.whole("version"); version != kLearnedVersion)
    return std::unexpected(fmt::format("it has version {}, karmad {} reads version {}", version,
                                       KARMAD_VERSION, kLearnedVersion));
  Learned learned{.overrides = members.text("overrides")};
  members.each("tables", [&](const auto& table) { learned.tables.push_back(table_in(table)); });
  members.each("agents", [&](const auto& agent) { learned.agents.push_back(agent_in(agent)); });
  if (const auto* tickets = member_of(&parsed, "tickets")) {
    const LearnedMembers numbers(*tickets);
    learned.tickets = LearnedTickets{numbers.number("concurrency"), numbers.number("throughput")};
  }
  return learned;
}

}  // namespace karmad
