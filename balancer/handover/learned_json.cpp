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
