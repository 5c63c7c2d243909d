#include "balancer/client/top_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "agent/json/json_line.hpp"
#include "balancer/trace/plain_text.hpp"

namespace karmad {
namespace {

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

const std::vector<Column>& columns() {
  static const std::vector<Column> all{
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
      {"REASON",
       [](const TopMirror& m) { return trouble_of(m.state) == 0 ? std::string() : m.reason; },
       false},
  };
  return all;
}

constexpr std::size_t kWidestColumn = 40;  // of those before the reason
constexpr std::size_t kStateColumn = 14;
constexpr std::size_t kShownEvents = 5;

std::vector<std::size_t> widths_of(const std::vector<const TopMirror*>& mirrors) {
  std::vector<std::size_t> widths;
  for (const auto& column : columns()) {
    auto width = column.title.size();
    for (const auto* mirror : mirrors) width = std::max(width, width_of(column.text(*mirror)));
    widths.push_back(column.title == "REASON" ? width : std::min(width, kWidestColumn));
  }
  return widths;
}

/// One line of the table after its state; `text` gives the cell of a column.
template <class Text>
std::string cells(const std::vector<std::size_t>& widths, Text text) {
  std::string line;
  for (std::size_t i = 0; i < columns().size(); ++i)
    line += ' ' + fitted(text(columns()[i]), widths[i], columns()[i].to_the_right);
  return line;
}

std::string cut(const std::string& line, std::size_t columns) {
  auto fits = width_of(line) <= columns ? line : fitted(line, columns);
  fits.erase(fits.find_last_not_of(' ') + 1);
  return fits;
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

void add_optional(JsonLine& out, std::string_view key, std::optional<double> value) {
  out.add(",\"");
  out.add(key);
  out.add("\":");
  if (value) {
    out.add_number(*value);
  } else {
    out.add("null");
  }
}

}  // namespace

std::vector<std::string> top_lines(const TopView& view, const TopStyle& style) {
  std::vector<const TopMirror*> mirrors;
  for (const auto& mirror : view.mirrors) mirrors.push_back(&mirror);
  const int worst = view.verdict == "all well" ? 0 : std::max(1, view.worst);
  std::ranges::stable_sort(mirrors, std::greater{},
                           [](const auto* mirror) { return trouble_of(mirror->state); });
  std::vector<std::string> lines;
  lines.push_back(coloured(
      cut(fmt::format("{} {}", mark_of(worst, style), view.verdict), style.columns), worst, style));
  lines.push_back(cut(rates_line(view), style.columns));
  lines.emplace_back();
  const auto widths = widths_of(mirrors);
  lines.push_back(cut(fitted("STATE", kStateColumn) +
                          cells(widths, [](const Column& c) { return std::string(c.title); }),
                      style.columns));
  std::vector<std::string> events;
  for (std::size_t i = view.events.size(); i > 0 && events.size() < kShownEvents; --i) {
    const auto& event = view.events[i - 1];
    events.push_back(cut(time_of_day(event.time) + " " + event.message, style.columns));
  }
  const auto other_lines = lines.size() + events.size() + 2;
  const auto room = style.rows == 0                ? mirrors.size()
                    : style.rows > other_lines + 1 ? style.rows - other_lines - 1
                                                   : 1;
  for (std::size_t i = 0; i < std::min(room, mirrors.size()); ++i) {
    const auto& mirror = *mirrors[i];
    const auto trouble = trouble_of(mirror.state);
    const auto state =
        fitted(fmt::format("{} {}", mark_of(trouble, style), mirror.state), kStateColumn);
    const auto rest = cells(widths, [&](const Column& c) { return c.text(mirror); });
    const auto left = style.columns > kStateColumn ? style.columns - kStateColumn : 0;
    lines.push_back(coloured(state, trouble, style) + cut(rest, left));
  }
  if (mirrors.size() > room)
    lines.push_back(
        cut(fmt::format("... and {} more mirrors", mirrors.size() - room), style.columns));
  if (!events.empty()) lines.emplace_back();
  for (auto& event : events) lines.push_back(std::move(event));
  return lines;
}

std::string top_json(const TopView& view) {
  std::string text;
  {
    JsonLine out(text);
    const auto add_text = [&](std::string_view key, std::string_view value) {
      out.add(",\"");
      out.add(key);
      out.add("\":");
      out.add_quoted(value);
    };
    out.add("{\"version\":");
    out.add_quoted(view.version);
    add_text("verdict", view.verdict);
    out.add(",\"rates\":{");
    const char* comma = "";
    for (const auto& rate : top_rates()) {
      out.add(std::string_view(std::exchange(comma, ",")));
      out.add_quoted(rate.name);
      out.add(':');
      const auto found = view.rates.find(rate.name);
      out.add_number(found == view.rates.end() ? 0.0 : found->second);
    }
    out.add("},\"mirrors\":[");
    comma = "";
    for (const auto& mirror : view.mirrors) {
      out.add(std::string_view(std::exchange(comma, ",")));
      out.add("{\"table\":");
      out.add_quoted(mirror.table);
      out.add(",\"shard\":");
      out.add_number(mirror.shard);
      out.add(",\"mirror\":");
      out.add_number(mirror.mirror);
      add_text("address", mirror.address);
      add_text("state", mirror.state);
      add_text("state_since", mirror.since);
      add_text("role", mirror.role);
      add_text("reason", mirror.reason);
      add_optional(out, "share", mirror.share);
      add_optional(out, "weight", mirror.weight);
      add_optional(out, "p50_ms", mirror.p50);
      add_optional(out, "p95_ms", mirror.p95);
      add_optional(out, "p99_ms", mirror.p99);
      out.add(",\"in_flight\":");
      out.add_number(mirror.in_flight);
      out.add(",\"errors_in_a_row\":");
      out.add_number(mirror.errors_in_a_row);
      out.add('}');
    }
    out.add("],\"events\":[");
    comma = "";
    for (const auto& event : view.events) {
      out.add(std::string_view(std::exchange(comma, ",")));
      out.add("{\"id\":");
      out.add_number(event.id);
      add_text("time", event.time);
      add_text("message", event.message);
      out.add('}');
    }
    out.add("]}");
  }
  return text;
}

}  // namespace karmad
