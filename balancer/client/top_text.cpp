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
  };
  return all;
}

constexpr std::size_t kWidestColumn = 40;
constexpr std::size_t kStateColumn = 14;
constexpr std::size_t kShownEvents = 5;
constexpr std::size_t kVerdictLines = 6;

std::vector<std::size_t> widths_of(const std::vector<const TopMirror*>& mirrors) {
  std::vector<std::size_t> widths;
  for (const auto& column : columns()) {
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
  for (std::size_t i = 0; i < columns().size(); ++i)
    line += ' ' + fitted(text(columns()[i]), widths[i], columns()[i].to_the_right);
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

namespace {

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
        cut(fmt::format("... and {} more mirrors", mirrors.size() - most), style.columns));
  return lines;
}

}  // namespace

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

namespace {

void add_member(JsonLine& out, std::string_view key, std::string_view value) {
  out.add(",\"");
  out.add(key);
  out.add("\":");
  out.add_quoted(value);
}

void add_mirror(JsonLine& out, const TopMirror& mirror) {
  out.add("{\"table\":");
  out.add_quoted(mirror.table);
  out.add(",\"shard\":");
  out.add_number(mirror.shard);
  out.add(",\"mirror\":");
  out.add_number(mirror.mirror);
  add_member(out, "address", mirror.address);
  add_member(out, "state", mirror.state);
  add_member(out, "state_since", mirror.since);
  add_member(out, "role", mirror.role);
  add_member(out, "reason", mirror.reason);
  add_member(out, "diagnosis", mirror.diagnosis);
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

}  // namespace

std::string top_json(const TopView& view) {
  std::string text;
  {
    JsonLine out(text);
    out.add("{\"version\":");
    out.add_quoted(view.version);
    add_member(out, "verdict", view.verdict);
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
      add_mirror(out, mirror);
    }
    out.add("],\"diagnoses\":[");
    comma = "";
    for (const auto& diagnosis : view.diagnoses) {
      out.add(std::string_view(std::exchange(comma, ",")));
      out.add_quoted(diagnosis.text);
    }
    out.add("],\"events\":[");
    comma = "";
    for (const auto& event : view.events) {
      out.add(std::string_view(std::exchange(comma, ",")));
      out.add("{\"id\":");
      out.add_number(event.id);
      add_member(out, "time", event.time);
      add_member(out, "message", event.message);
      out.add('}');
    }
    out.add("]}");
  }
  return text;
}

}  // namespace karmad
