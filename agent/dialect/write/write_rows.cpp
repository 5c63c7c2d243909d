#include "agent/dialect/write/write_rows.hpp"

#include <algorithm>
#include <utility>

#include "agent/json/json_line.hpp"
#include "agent/json/json_text.hpp"
#include "config/text/source_text.hpp"

namespace karmad {

namespace {

void add_columns(JsonLine& out, const ResultSet& rows) {
  out.add("\"columns\":[");
  std::string_view before = "{\"";
  for (std::size_t c = 0; c < rows.columns.size(); ++c) {
    if (!rows.shows(c)) continue;
    out.add(std::exchange(before, ",{\""), rows.columns[c].name, R"(":{"type":")",
            rows.columns[c].type, "\"}}");
  }
  out.add("],\n");
}

void add_row(JsonLine& out, const ResultSet& rows, std::size_t number) {
  const auto row = rows.row(number);
  char before = '{';
  for (std::size_t c = 0; c < rows.columns.size(); ++c) {
    if (!rows.shows(c)) continue;
    out.add(std::exchange(before, ','), '"', rows.columns[c].name, "\":", row[c]);
  }
  out.add(before == '{' ? "{}" : "}");
}

/// One element of the array.
void add_set(JsonLine& out, const ResultSet& rows) {
  if (rows.columns.empty()) {
    out.add("{\"total\":0,\"error\":\"\",\"warning\":", Quoted(rows.warning), '}');
    return;
  }
  out.add("{\n");
  add_columns(out, rows);
  out.add("\"data\":[\n");
  for (std::size_t r = 0; r < rows.count; ++r) {
    add_row(out, rows, r);
    out.add(r + 1 < rows.count ? ",\n" : "\n");
  }
  out.add("],\n\"total\":", rows.count, ",\n\"error\":\"\",\n\"warning\":", Quoted(rows.warning),
          "\n}");
}

using Line = std::vector<std::string>;

/// Text that is safe for a terminal: valid UTF-8 in one line, without control characters.
std::string printable_line(std::string_view text) {
  auto clean = clean_utf8(text);
  std::ranges::replace_if(
      clean, [](char c) { return (c >= 0 && c < ' ') || c == 0x7f; }, ' ');
  return clean;
}

/// Width in characters, not bytes, as on a terminal.
std::size_t shown_width(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; }));
}

void append_line(std::string& out, const Line& line, const std::vector<std::size_t>& widths) {
  for (std::size_t i = 0; i < line.size(); ++i)
    out.append("| ").append(line[i]).append(widths[i] - shown_width(line[i]) + 1, ' ');
  out += "|\n";
}

void append_border(std::string& out, const std::vector<std::size_t>& widths) {
  for (const auto width : widths) out.append("+").append(width + 2, '-');
  out += "+\n";
}

/// The set as a table drawn with characters, and the number of its rows.
void append_table(std::string& out, const ResultSet& rows) {
  if (rows.count == 0) {
    out += "Empty set\n";
    return;
  }
  std::vector<Line> lines(rows.count + 1);
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < rows.columns.size(); ++c) {
    if (!rows.shows(c)) continue;
    auto& width = widths.emplace_back();
    const auto add = [&](Line& line, std::string_view text) {
      width = std::max(width, shown_width(line.emplace_back(printable_line(text))));
    };
    add(lines[0], json_unescaped(rows.columns[c].name));
    for (std::size_t r = 0; r < rows.count; ++r) {
      const auto cell = rows.row(r)[c];
      add(lines[r + 1], cell == "null" ? "NULL" : cell_text(cell));
    }
  }
  append_border(out, widths);
  append_line(out, lines.front(), widths);
  append_border(out, widths);
  for (const auto& line : std::span(lines).subspan(1)) append_line(out, line, widths);
  append_border(out, widths);
  out.append(counted_noun(rows.count, "row")).append(" in set\n");
}

}  // namespace

void append_sets(RowForm form, std::span<const ResultSet> sets, std::string& out) {
  if (form == RowForm::text) {
    for (const auto& rows : sets) append_table(out, rows);
    for (const auto& rows : sets)
      if (!rows.warning.empty())
        out.append("Warning: ").append(printable_line(rows.warning)).append("\n");
    return;
  }
  JsonLine line(out);
  line.add('[');
  for (const auto& rows : sets) {
    if (&rows != sets.data()) line.add(",\n");
    add_set(line, rows);
  }
  line.add(']');
}

}  // namespace karmad
