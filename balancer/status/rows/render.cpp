#include "balancer/status/rows/render.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string_view>
#include <vector>

#include "agent/json/json_line.hpp"
#include "agent/json/json_text.hpp"

namespace karmad {
namespace {

void add_columns(JsonLine& out, const ResultSet& set) {
  out.add("\"columns\":[");
  for (std::size_t i = 0; i < set.columns.size(); ++i) {
    out.add(i == 0 ? "{" : ",{");
    out.add_quoted(set.columns[i]);
    out.add(":{\"type\":\"string\"}}");
  }
  out.add("],\n");
}

void add_row(JsonLine& out, const ResultSet& set, const std::vector<std::string>& row) {
  for (std::size_t i = 0; i < row.size(); ++i) {
    out.add(i == 0 ? '{' : ',');
    out.add_quoted(set.columns[i]);
    out.add(':');
    out.add_quoted(row[i]);
  }
  out.add('}');
}

void add_set(JsonLine& out, const ResultSet& set) {
  out.add("{\n");
  add_columns(out, set);
  out.add("\"data\":[\n");
  for (std::size_t i = 0; i < set.rows.size(); ++i) {
    add_row(out, set, set.rows[i]);
    out.add(i + 1 < set.rows.size() ? ",\n" : "\n");
  }
  out.add("],\n\"total\":");
  out.add_number(set.rows.size());
  out.add(",\n\"error\":\"\",\n\"warning\":\"\"\n}");
}

/// Width in characters, not bytes, as on a terminal.
std::size_t shown_width(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; }));
}

/// Text that is safe for a terminal.
std::string printable(std::string_view text) {
  auto clean = clean_utf8(text);
  std::ranges::replace_if(
      clean, [](char c) { return (c >= 0 && c < ' ') || c == 0x7f; }, ' ');
  return clean;
}

using Cells = std::vector<std::string>;

Cells printable(const Cells& cells) {
  Cells result;
  for (const auto& cell : cells) result.push_back(printable(std::string_view{cell}));
  return result;
}

void append_line(std::string& out, const Cells& cells, const std::vector<std::size_t>& widths) {
  for (std::size_t i = 0; i < cells.size(); ++i) {
    out += "| ";
    out += cells[i];
    out.append(widths[i] - shown_width(cells[i]) + 1, ' ');
  }
  out += "|\n";
}

void append_border(std::string& out, const std::vector<std::size_t>& widths) {
  for (const auto width : widths) {
    out += '+';
    out.append(width + 2, '-');
  }
  out += "+\n";
}

}  // namespace

void append_raw(std::string& to, std::span<const ResultSet> sets) {
  JsonLine out(to);
  out.add('[');
  for (std::size_t i = 0; i < sets.size(); ++i) {
    if (i > 0) out.add(",\n");
    add_set(out, sets[i]);
  }
  out.add(']');
}

void append_text(std::string& out, const ResultSet& set) {
  if (set.rows.empty()) {
    out += "Empty set\n";
    return;
  }
  std::vector<Cells> lines{printable(set.columns)};
  for (const auto& row : set.rows) lines.push_back(printable(row));
  std::vector<std::size_t> widths(set.columns.size());
  for (const auto& line : lines)
    for (std::size_t i = 0; i < line.size(); ++i)
      widths[i] = std::max(widths[i], shown_width(line[i]));
  append_border(out, widths);
  append_line(out, lines.front(), widths);
  append_border(out, widths);
  for (std::size_t i = 1; i < lines.size(); ++i) append_line(out, lines[i], widths);
  append_border(out, widths);
  const auto rows = set.rows.size();
  fmt::format_to(std::back_inserter(out), "{} {} in set\n", rows, rows == 1 ? "row" : "rows");
}

}  // namespace karmad
