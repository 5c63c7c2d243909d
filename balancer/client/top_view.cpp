#include "balancer/client/top_view.hpp"

#include <fmt/format.h>
#include <rapidjson/document.h>

#include <algorithm>
#include <span>

#include "balancer/trace/plain_text.hpp"

namespace karmad {
namespace {

using Value = rapidjson::Value;

const Value* member(const Value& of, const char* key) {
  if (!of.IsObject()) return nullptr;
  const auto found = of.FindMember(key);
  return found == of.MemberEnd() ? nullptr : &found->value;
}

std::string text_at(const Value& of, const char* key) {
  const auto* value = member(of, key);
  return value != nullptr && value->IsString()
             ? without_controls({value->GetString(), value->GetStringLength()})
             : std::string();
}

std::optional<double> number_at(const Value& of, const char* key) {
  const auto* value = member(of, key);
  return value != nullptr && value->IsNumber() ? std::optional(value->GetDouble()) : std::nullopt;
}

std::uint64_t count_at(const Value& of, const char* key) {
  const auto* value = member(of, key);
  return value != nullptr && value->IsUint64() ? value->GetUint64() : 0;
}

/// Calls `each` for the elements of an array; for none if it is none.
template <class Each>
void for_each_in(const Value& of, const char* key, Each each) {
  const auto* value = member(of, key);
  if (value == nullptr || !value->IsArray()) return;
  for (const auto& element : value->GetArray()) each(element);
}

bool parse(rapidjson::Document& into, std::string_view text) {
  constexpr unsigned kFlags =
      rapidjson::kParseValidateEncodingFlag | rapidjson::kParseIterativeFlag;
  into.Parse<kFlags>(text.data(), text.size());
  return !into.HasParseError() && into.IsObject();
}

TopMirror read_mirror(const Value& mirror, const Value& shard, const std::string& table) {
  TopMirror read;
  read.table = table;
  read.shard = static_cast<unsigned>(count_at(shard, "shard"));
  read.mirror = static_cast<unsigned>(count_at(mirror, "mirror"));
  read.address = text_at(mirror, "address");
  read.state = text_at(mirror, "state");
  read.since = text_at(mirror, "state_since");
  read.role = text_at(mirror, "role");
  read.reason = text_at(mirror, "reason");
  read.diagnosis = text_at(mirror, "diagnosis");
  read.weight = number_at(mirror, "weight");
  if (const auto* latency = member(mirror, "latency_ms")) {
    read.p50 = number_at(*latency, "p50");
    read.p95 = number_at(*latency, "p95");
    read.p99 = number_at(*latency, "p99");
  }
  read.in_flight = count_at(mirror, "in_flight");
  read.errors_in_a_row = count_at(mirror, "errors_in_a_row");
  if (const auto* all = member(mirror, "since_start")) read.attempts = count_at(*all, "attempts");
  return read;
}

/// Adds the diagnosis of a shard in trouble, which names its worst mirror, and those of its other
/// mirrors in trouble.
void add_diagnoses(TopView& view, const Value& shard, std::span<const TopMirror> mirrors) {
  int worst = 0;
  for (const auto& mirror : mirrors) worst = std::max(worst, trouble_of(mirror.state));
  if (worst == 0) return;
  const auto of_shard = text_at(shard, "diagnosis");
  view.diagnoses.push_back({worst, fmt::format("table {}, shard {}: {}", mirrors.front().table,
                                               mirrors.front().shard, of_shard)});
  for (const auto& mirror : mirrors)
    if (const auto trouble = trouble_of(mirror.state);
        trouble > 0 && !of_shard.ends_with(mirror.diagnosis))
      view.diagnoses.push_back({trouble, mirror.diagnosis});
}

bool same_shard(const TopMirror& a, const TopMirror& b) {
  return a.table == b.table && a.shard == b.shard;
}

/// Sets the shares from numbers of attempts, one per mirror.
void set_shares(TopView& view, const std::vector<std::uint64_t>& attempts) {
  for (std::size_t i = 0; i < view.mirrors.size(); ++i) {
    std::uint64_t all = 0;
    for (std::size_t other = 0; other < view.mirrors.size(); ++other)
      if (same_shard(view.mirrors[i], view.mirrors[other])) all += attempts[other];
    view.mirrors[i].share =
        all == 0 ? std::nullopt
                 : std::optional(static_cast<double>(attempts[i]) / static_cast<double>(all));
  }
}

double sum_of(const TopView& view, const TopRate& rate) {
  double sum = 0;
  for (const auto& counter : rate.counters)
    if (const auto found = view.sums.find(counter); found != view.sums.end()) sum += found->second;
  return sum;
}

}  // namespace

int trouble_of(std::string_view state) {
  if (state == "ready" || state == "starting" || state == "unknown" || state == "blackhole")
    return 0;
  if (state == "slow" || state == "lagging" || state == "full" || state == "unsuitable") return 1;
  return 2;
}

const std::vector<TopRate>& top_rates() {
  static const std::vector<TopRate> all{
      {"requests/s", {"requests"}},
      {"failed/s", {"queries_failed"}},
      {"partial/s", {"answers_partial"}},
      {"retries/s", {"agent_retry"}},
      {"hedges/s", {"hedges"}},
      {"hedges won/s", {"hedges_won"}},
      {"refused/s",
       {"tickets_refused", "tickets_expired", "requests_over_rate", "max_in_flight_refused",
        "selections_refused", "memory_refused"}},
      {"search tickets", {"search_tickets_out"}, true},
      {"waiting for tickets",
       {"ingress_tickets_queued", "search_tickets_queued", "update_tickets_queued"},
       true},
      {"connections", {"connections_open"}, true},
  };
  return all;
}

std::expected<TopView, std::string> read_top(std::string_view agents, std::string_view status,
                                             std::string_view events, std::string_view table) {
  rapidjson::Document document;
  TopView view;
  if (!parse(document, agents) || member(document, "verdict") == nullptr)
    return std::unexpected("the answer to GET /agents is not that of karmad");
  view.version = text_at(document, "version");
  view.verdict = text_at(document, "verdict");
  view.uptime = number_at(document, "uptime_s").value_or(0);
  bool found = table.empty();
  std::string tables;
  for_each_in(document, "tables", [&](const Value& of) {
    const auto name = text_at(of, "name");
    const bool wanted = table.empty() || name == table;
    found = found || wanted;
    tables += (tables.empty() ? "" : ", ") + name;
    for_each_in(of, "shards", [&](const Value& shard) {
      const auto before = view.mirrors.size();
      for_each_in(shard, "mirrors", [&](const Value& mirror) {
        auto read = read_mirror(mirror, shard, name);
        view.worst = std::max(view.worst, trouble_of(read.state));
        if (wanted) view.mirrors.push_back(std::move(read));
      });
      add_diagnoses(view, shard, std::span(view.mirrors).subspan(before));
    });
  });
  if (!found)
    return std::unexpected(
        fmt::format("no table '{}'; the tables are: {}", without_controls(table), tables));
  if (!parse(document, status))
    return std::unexpected("the answer to GET /status is not that of karmad");
  for (const auto& [key, value] : document.GetObject())
    if (value.IsNumber()) view.sums[key.GetString()] = value.GetDouble();
  if (!parse(document, events))
    return std::unexpected("the answer to GET /events is not that of karmad");
  for_each_in(document, "events", [&](const Value& event) {
    view.events.push_back(
        {count_at(event, "id"), text_at(event, "time"), text_at(event, "message")});
  });
  std::vector<std::uint64_t> attempts;
  for (const auto& mirror : view.mirrors) attempts.push_back(mirror.attempts);
  set_shares(view, attempts);
  for (const auto& rate : top_rates())
    view.rates[std::string(rate.name)] = rate.is_gauge     ? sum_of(view, rate)
                                         : view.uptime > 0 ? sum_of(view, rate) / view.uptime
                                                           : 0;
  return view;
}

void since(TopView& view, const TopView& earlier, double seconds) {
  std::vector<std::uint64_t> attempts;
  for (const auto& mirror : view.mirrors) {
    const auto before = std::ranges::find_if(earlier.mirrors, [&](const auto& old) {
      return same_shard(old, mirror) && old.mirror == mirror.mirror &&
             old.address == mirror.address;
    });
    const auto then = before == earlier.mirrors.end() ? 0 : before->attempts;
    attempts.push_back(mirror.attempts > then ? mirror.attempts - then : 0);
  }
  set_shares(view, attempts);
  if (seconds <= 0) return;
  for (const auto& rate : top_rates())
    if (!rate.is_gauge)
      view.rates[std::string(rate.name)] =
          std::max(0.0, sum_of(view, rate) - sum_of(earlier, rate)) / seconds;
}

}  // namespace karmad
