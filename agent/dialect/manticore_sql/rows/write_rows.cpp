#include "agent/dialect/manticore_sql/rows/write_rows.hpp"

#include "agent/json/drawn_table.hpp"
#include "agent/json/json_text.hpp"

namespace karmad {

namespace {

void add_columns(JsonLine& out, const MergedRows& rows) {
  out.add("\"columns\":[");
  bool first = true;
  for (std::size_t c = 0; c < rows.columns.size(); ++c) {
    if (!rows.shows(c)) continue;
    out.add(first ? "{\"" : ",{\"");
    first = false;
    out.add(rows.columns[c].name);
    out.add("\":{\"type\":\"");
    out.add(rows.columns[c].type);
    out.add("\"}}");
  }
  out.add("],\n");
}

void add_row(JsonLine& out, const MergedRows& rows, std::size_t number) {
  const auto row = rows.row(number);
  char before = '{';
  for (std::size_t c = 0; c < rows.columns.size(); ++c) {
    if (!rows.shows(c)) continue;
    out.add(before);
    before = ',';
    out.add('"');
    out.add(rows.columns[c].name);
    out.add("\":");
    out.add(row[c]);
  }
  if (before == '{') out.add('{');
  out.add('}');
}

std::string shown_text(std::string_view cell) {
  if (cell == "null") return "NULL";
  return is_string(cell) ? json_unescaped(without_quotes(cell)) : std::string(cell);
}

}  // namespace

void append_raw_set(JsonLine& out, const MergedRows& rows, std::string_view warning) {
  out.add('{');
  if (rows.columns.empty()) {
    out.add("\"total\":0,\"error\":\"\",\"warning\":\"");
    out.add(warning);
    out.add("\"}");
    return;
  }
  out.add('\n');
  add_columns(out, rows);
  out.add("\"data\":[\n");
  for (std::size_t r = 0; r < rows.count; ++r) {
    add_row(out, rows, r);
    if (r + 1 < rows.count)
      out.add(",\n");
    else
      out.add('\n');
  }
  out.add("],\n\"total\":");
  out.add_number(rows.count);
  out.add(",\n\"error\":\"\",\n\"warning\":\"");
  out.add(warning);
  out.add("\"\n}");
}

void append_drawn_set(std::string& out, const MergedRows& rows) {
  std::vector<std::vector<std::string>> lines(rows.count + 1);
  for (std::size_t c = 0; c < rows.columns.size(); ++c) {
    if (!rows.shows(c)) continue;
    lines[0].push_back(json_unescaped(rows.columns[c].name));
    for (std::size_t r = 0; r < rows.count; ++r) lines[r + 1].push_back(shown_text(rows.row(r)[c]));
  }
  append_drawn_table(out, lines);
}

void append_drawn_warning(std::string& out, std::string_view warning) {
  if (!warning.empty()) out.append("Warning: ").append(printable_line(warning)).append("\n");
}

void append_sets(RowForm form, std::span<const MergedRows> sets, std::string_view warning,
                 std::string& out) {
  if (form == RowForm::text) {
    for (const auto& rows : sets) append_drawn_set(out, rows);
    append_drawn_warning(out, warning);
    return;
  }
  std::string escaped;
  JsonLine(escaped).add_escaped(warning);
  JsonLine line(out);
  line.add('[');
  for (const auto& rows : sets) {
    if (&rows != sets.data()) line.add(",\n");
    append_raw_set(line, rows, escaped);
    escaped.clear();
  }
  line.add(']');
}

}  // namespace karmad
