#include "balancer/client/top_view.hpp"

#include <fmt/format.h>
#include <rapidjson/document.h>

#include <algorithm>
#include <span>
#include <utility>

#include "agent/json/json_tree.hpp"
#include "agent/stats/document.hpp"
#include "agent/transport/http/http_syntax.hpp"
#include "balancer/trace/plain_text.hpp"
#include "config/text/source_text.hpp"

namespace karmad {
namespace {

using Value = rapidjson::Value;

/// How bad a state is: 0 well, 1 slow and the like, 2 not usable.
int trouble_of(std::string_view state) {
  if (state == "ready" || state == "starting" || state == "unknown" || state == "blackhole")
    return 0;
  constexpr std::string_view kNotable[] = {"slow",       "lagging", "full",
                                           "unsuitable", "drain",   "maint"};
  if (std::ranges::find(kNotable, state) != std::end(kNotable)) return 1;
  return 2;
}

/// The numbers of the process that are shown, by their names there.
struct TopRate {
  std::string_view name;
  std::vector<std::string_view> counters;  ///< of /status; their sum
  bool is_gauge = false;
};

const std::vector<TopRate>& top_rates() {
  static const std::vector<TopRate> all{
      {"requests/s", {"requests"}},
      {"failed/s", {"queries_failed"}},
      {"partial/s", {"answers_partial"}},
      {"retries/s", {"agent_retry"}},
      {"hedges/s", {"hedges"}},
      {"hedges won/s", {"hedges_won"}},
      {"refused/s",
       {"tickets_refused", "requests_over_rate", "requests_over_client_rate",
        "requests_over_table_rate", "max_in_flight_refused", "selections_refused", "memory_refused",
        "long_work_refused"}},
      {"search tickets", {"search_tickets_out"}, true},
      {"waiting for tickets",
       {"ingress_tickets_queued", "search_tickets_queued", "update_tickets_queued"},
       true},
      {"connections", {"connections_open"}, true},
  };
  return all;
}

std::string text_at(const Value& of, std::string_view key) {
  return without_controls(text_member(of, key));
}

std::optional<double> number_at(const Value& of, std::string_view key) {
  const auto* value = member_of(&of, key);
  return value != nullptr && value->IsNumber() ? std::optional(value->GetDouble()) : std::nullopt;
}

std::uint64_t count_at(const Value& of, std::string_view key) {
  const auto* value = member_of(&of, key);
  return value != nullptr && value->IsUint64() ? value->GetUint64() : 0;
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
  if (const auto* latency = member_of(&mirror, "latency_ms")) {
    read.p50 = number_at(*latency, "p50");
    read.p95 = number_at(*latency, "p95");
    read.p99 = number_at(*latency, "p99");
  }
  read.in_flight = count_at(mirror, "in_flight");
  read.errors_in_a_row = count_at(mirror, "errors_in_a_row");
  if (const auto* all = member_of(&mirror, "since_start"))
    read.attempts = count_at(*all, "attempts");
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

std::string_view mark_of(int trouble, const TopStyle& style) {
  if (style.utf8) return trouble == 0 ? "✔" : trouble == 1 ? "▲" : "✖";
  return trouble == 0 ? "+" : trouble == 1 ? "!" : "x";
}

std::string coloured(std::string text, int trouble, const TopStyle& style) {
  if (!style.colours) return text;
  return fmt::format("\x1b[{}m{}\x1b[0m",
                     trouble == 0   ? "32"
                     : trouble == 1 ? "33;1"
                                    : "31;1",
                     text);
}

std::string number(std::optional<double> value, int digits) {
  return value ? fmt::format("{:.{}f}", *value, digits) : "-";
}

std::string in_percent(std::optional<double> share) {
  return share ? fmt::format("{:.0f}%", *share * 100) : "-";
}

/// The time of the day in `2026-11-24T02:28:00.775Z`.
std::string time_of_day(const std::string& time) {
  return time.size() >= 19 ? time.substr(11, 8) : "-";
}

struct Column {
  std::string_view title;
  std::string (*text)(const TopMirror&);
  bool to_the_right = true;
};

constexpr Column kColumns[]{
    {"SINCE", [](const TopMirror& m) { return time_of_day(m.since); }, false},
    {"MIRROR", [](const TopMirror& m) { return m.address; }, false},
    {"TABLE", [](const TopMirror& m) { return m.table; }, false},
    {"SHARD", [](const TopMirror& m) { return fmt::format("{}.{}", m.shard, m.mirror); }},
    {"ROLE", [](const TopMirror& m) { return m.role; }, false},
    {"SHARE", [](const TopMirror& m) { return in_percent(m.share); }},
    {"WEIGHT", [](const TopMirror& m) { return in_percent(m.weight); }},
    {"P50MS", [](const TopMirror& m) { return number(m.p50, 1); }},
    {"P95MS", [](const TopMirror& m) { return number(m.p95, 1); }},
    {"P99MS", [](const TopMirror& m) { return number(m.p99, 1); }},
    {"FLIGHT", [](const TopMirror& m) { return fmt::format("{}", m.in_flight); }},
    {"ERRORS", [](const TopMirror& m) { return fmt::format("{}", m.errors_in_a_row); }},
};

constexpr std::size_t kWidestColumn = 40;
constexpr std::size_t kStateColumn = 14;
constexpr std::size_t kShownEvents = 5;
constexpr std::size_t kVerdictLines = 6;

std::vector<std::size_t> widths_of(const std::vector<const TopMirror*>& mirrors) {
  std::vector<std::size_t> widths;
  for (const auto& column : kColumns) {
    auto width = column.title.size();
    for (const auto* mirror : mirrors) width = std::max(width, width_of(column.text(*mirror)));
    widths.push_back(std::min(width, kWidestColumn));
  }
  return widths;
}

/// One line of the table after its state; `text` gives the cell of a column.
template <class Text>
std::string cells(const std::vector<std::size_t>& widths, Text text) {
  std::string line;
  for (std::size_t i = 0; i < std::size(kColumns); ++i)
    line += ' ' + fitted(text(kColumns[i]), widths[i], kColumns[i].to_the_right);
  return line;
}

std::string cut(const std::string& line, std::size_t columns) {
  auto fits = columns == 0 || width_of(line) <= columns ? line : fitted(line, columns);
  fits.erase(fits.find_last_not_of(' ') + 1);
  return fits;
}

/// The text in lines, broken at blanks; those after the first are indented. With more than `most`
/// lines the last one ends with `~`.
std::vector<std::string> wrapped(std::string_view text, std::size_t columns, std::size_t most) {
  constexpr std::string_view kIndent = "  ";
  std::vector<std::string> lines;
  std::string line;
  while (!text.empty()) {
    const auto word = text.substr(0, text.find(' ', 1));  // with the blank before it
    const bool fits = columns == 0 || width_of(line) + width_of(word) <= columns;
    if (fits || line.empty() || line == kIndent) {
      line += line == kIndent && word.starts_with(' ') ? word.substr(1) : word;
      text.remove_prefix(word.size());
      continue;
    }
    lines.push_back(cut(line, columns));
    line = kIndent;
  }
  lines.push_back(cut(line, columns));
  if (lines.size() <= most) return lines;
  lines.resize(std::max<std::size_t>(most, 1));
  lines.back() = cut(lines.back() + " ~", columns);
  return lines;
}

std::string rates_line(const TopView& view) {
  std::string line;
  for (const auto& rate : top_rates()) {
    const auto found = view.rates.find(rate.name);
    const auto value = found == view.rates.end() ? 0 : found->second;
    line += fmt::format("{}{} {:.{}f}", line.empty() ? "" : "   ", rate.name, value,
                        rate.is_gauge ? 0 : 1);
  }
  return line;
}

void add_mirror(Document& out, const TopMirror& mirror) {
  out.text("table", mirror.table);
  out.value("shard", mirror.shard);
  out.value("mirror", mirror.mirror);
  out.text("address", mirror.address);
  out.text("state", mirror.state);
  out.text("state_since", mirror.since);
  out.text("role", mirror.role);
  out.text("reason", mirror.reason);
  out.text("diagnosis", mirror.diagnosis);
  out.value("share", mirror.share);
  out.value("weight", mirror.weight);
  out.value("p50_ms", mirror.p50);
  out.value("p95_ms", mirror.p95);
  out.value("p99_ms", mirror.p99);
  out.value("in_flight", mirror.in_flight);
  out.value("errors_in_a_row", mirror.errors_in_a_row);
}

/// The diagnoses that the verdict does not have, the worst first.
std::vector<std::string> diagnosis_lines(const TopView& view, const TopStyle& style) {
  auto diagnoses = view.diagnoses;
  std::ranges::stable_sort(diagnoses, std::greater{}, &TopDiagnosis::trouble);
  std::vector<std::string> lines;
  for (const auto& [trouble, text] : diagnoses) {
    if (view.verdict.starts_with(text)) continue;
    for (auto& line :
         wrapped(fmt::format("{} {}", mark_of(trouble, style), text), style.columns, kVerdictLines))
      lines.push_back(coloured(std::move(line), trouble, style));
  }
  return lines;
}

std::vector<std::string> event_lines(const TopView& view, const TopStyle& style) {
  std::vector<std::string> lines;
  for (std::size_t i = view.events.size(); i > 0 && lines.size() < kShownEvents; --i) {
    const auto& event = view.events[i - 1];
    lines.push_back(cut(time_of_day(event.time) + " " + event.message, style.columns));
  }
  return lines;
}

std::vector<std::string> mirror_lines(const TopView& view, const TopStyle& style,
                                      std::size_t most) {
  std::vector<const TopMirror*> mirrors;
  for (const auto& mirror : view.mirrors) mirrors.push_back(&mirror);
  std::ranges::stable_sort(mirrors, std::greater{},
                           [](const auto* mirror) { return trouble_of(mirror->state); });
  const auto widths = widths_of(mirrors);
  const auto header = cells(widths, [](const Column& c) { return std::string(c.title); });
  std::vector<std::string> lines{cut(fitted("STATE", kStateColumn) + header, style.columns)};
  for (std::size_t i = 0; i < std::min(most, mirrors.size()); ++i) {
    const auto trouble = trouble_of(mirrors[i]->state);
    const auto state =
        fitted(fmt::format("{} {}", mark_of(trouble, style), mirrors[i]->state), kStateColumn);
    const auto rest = cells(widths, [&](const Column& c) { return c.text(*mirrors[i]); });
    const auto line = cut(state + rest, style.columns);
    const auto split = std::min(line.size(), state.size());
    lines.push_back(coloured(line.substr(0, split), trouble, style) + line.substr(split));
  }
  if (mirrors.size() > most)
    lines.push_back(
        cut("... and " + counted_noun(mirrors.size() - most, "more mirror"), style.columns));
  return lines;
}

}  // namespace

std::expected<TopView, std::string> read_top(std::string_view agents, std::string_view status,
                                             std::string_view events, std::string_view table) {
  TopView view;
  const auto document = tree_of(agents);
  if (member_of(&document, "verdict") == nullptr)
    return std::unexpected("the answer to GET /agents is not that of karmad");
  view.version = text_at(document, "version");
  view.verdict = text_at(document, "verdict");
  view.uptime = number_at(document, "uptime_s").value_or(0);
  bool found = table.empty();
  std::string tables;
  for (const auto& of : list_member(document, "tables")) {
    const auto name = text_at(of, "name");
    const bool wanted = table.empty() || wire::same_word(name, table);
    found = found || wanted;
    tables += (tables.empty() ? "" : ", ") + name;
    for (const auto& shard : list_member(of, "shards")) {
      const auto before = view.mirrors.size();
      for (const auto& mirror : list_member(shard, "mirrors")) {
        auto read = read_mirror(mirror, shard, name);
        view.worst = std::max(view.worst, trouble_of(read.state));
        if (wanted) view.mirrors.push_back(std::move(read));
      }
      add_diagnoses(view, shard, std::span(view.mirrors).subspan(before));
    }
  }
  if (!found)
    return std::unexpected(
        fmt::format("no table '{}'; the tables are: {}", without_controls(table), tables));
  const auto counters = tree_of(status);
  if (!counters.IsObject())
    return std::unexpected("the answer to GET /status is not that of karmad");
  for (const auto& [key, value] : counters.GetObject())
    if (value.IsNumber()) view.sums[key.GetString()] = value.GetDouble();
  const auto happened = tree_of(events);
  if (!happened.IsObject())
    return std::unexpected("the answer to GET /events is not that of karmad");
  for (const auto& event : list_member(happened, "events"))
    view.events.push_back(
        {count_at(event, "id"), text_at(event, "time"), text_at(event, "message")});
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

std::vector<std::string> top_lines(const TopView& view, const TopStyle& style) {
  const int worst = view.verdict == "all well" ? 0 : std::max(1, view.worst);
  std::vector<std::string> lines;
  for (auto& line : wrapped(fmt::format("{} {}", mark_of(worst, style), view.verdict),
                            style.columns, kVerdictLines))
    lines.push_back(coloured(std::move(line), worst, style));
  lines.push_back(cut(rates_line(view), style.columns));
  auto diagnoses = diagnosis_lines(view, style);
  auto events = event_lines(view, style);
  // Of the rows below, half are for mirrors and a quarter each for diagnoses and events, at least.
  constexpr std::size_t kBlanks = 3;
  const auto used = lines.size() + kBlanks + 2;  // with the header and the number of the others
  const auto room = style.rows > used ? style.rows - used : 1;
  auto mirrors = view.mirrors.size();
  if (style.rows != 0) {
    events.resize(std::min(events.size(), room / 4));
    diagnoses.resize(
        std::min(diagnoses.size(), room - std::min(mirrors, room / 2 + 1) - events.size()));
    mirrors = std::max<std::size_t>(room - diagnoses.size() - events.size(), 1);
  }
  for (auto* part : {&diagnoses, &events})
    if (!part->empty()) part->insert(part->begin(), "");
  lines.emplace_back();
  std::ranges::move(mirror_lines(view, style, mirrors), std::back_inserter(lines));
  for (auto* part : {&diagnoses, &events}) std::ranges::move(*part, std::back_inserter(lines));
  return lines;
}

std::string top_json(const TopView& view) {
  return json_object([&](Document& out) {
    out.text("version", view.version);
    out.text("verdict", view.verdict);
    out.object("rates", [&] {
      for (const auto& rate : top_rates()) {
        const auto found = view.rates.find(rate.name);
        out.value(rate.name, found == view.rates.end() ? 0.0 : found->second);
      }
    });
    out.objects("mirrors", view.mirrors, [&](const TopMirror& mirror) { add_mirror(out, mirror); });
    out.array("diagnoses", view.diagnoses,
              [&](const auto& diagnosis) { out.text(diagnosis.text); });
    out.objects("events", view.events, [&](const auto& event) {
      out.value("id", event.id);
      out.text("time", event.time);
      out.text("message", event.message);
    });
  });
}

}  // namespace karmad
