#include "agent/dialect/manticore_sql/rows/write_rows.hpp"

#include "agent/json/drawn_table.hpp"
#include "agent/json/json_line.hpp"
#include "agent/json/json_text.hpp"

namespace karmad {

namespace {

void add_columns(JsonLine& out, const ResultSet& rows) {
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

void add_row(JsonLine& out, const ResultSet& rows, std::size_t number) {
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

/// One element of the array.
void add_set(JsonLine& out, const ResultSet& rows) {
  out.add('{');
  if (rows.columns.empty()) {
    out.add("\"total\":0,\"error\":\"\",\"warning\":");
    out.add_quoted(rows.warning);
    out.add('}');
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
  out.add(",\n\"error\":\"\",\n\"warning\":");
  out.add_quoted(rows.warning);
  out.add("\n}");
}

void append_table(std::string& out, const ResultSet& rows) {
  std::vector<std::vector<std::string>> lines(rows.count + 1);
  for (std::size_t c = 0; c < rows.columns.size(); ++c) {
    if (!rows.shows(c)) continue;
    lines[0].push_back(json_unescaped(rows.columns[c].name));
    for (std::size_t r = 0; r < rows.count; ++r) {
      const auto cell = rows.row(r)[c];
      lines[r + 1].push_back(cell == "null" ? "NULL" : cell_text(cell));
    }
  }
  append_drawn_table(out, lines);
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
