#include "demo/sql/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "demo/data/text.hpp"
#include "demo/sql/cell_text.hpp"

namespace karmad::demo {

namespace {

void append_raw_set(std::string& out, const ResultSet& result) {
  if (result.columns.empty()) {
    fmt::format_to(std::back_inserter(out), "{{\"total\":{},\"error\":\"\",\"warning\":{}}}",
                   result.changed, json_string(result.warning));
    return;
  }
  out += "{\n\"columns\":[";
  for (const auto& column : result.columns)
    fmt::format_to(std::back_inserter(out), "{}{{{}:{{\"type\":\"{}\"}}}}",
                   &column == result.columns.data() ? "" : ",", json_string(column.name),
                   type_name(column.type));
  out += "],\n\"data\":[\n";
  for (const auto& row : result.rows) {
    if (&row != result.rows.data()) out += ",\n";
    for (std::size_t i = 0; i < row.size(); ++i) {
      out += i == 0 ? '{' : ',';
      append_quoted(out, result.columns[i].name);
      out += ':';
      append_cell(out, row[i], result.columns[i].type, Layout::raw);
    }
    out += '}';
  }
  if (!result.rows.empty()) out += '\n';
  fmt::format_to(std::back_inserter(out),
                 "],\n\"total\":{},\n\"error\":\"\",\n\"warning\":\"\"\n}}", result.rows.size());
}

void append_hit(std::string& out, const Index& index, const ResultSet& result, std::size_t row) {
  const auto& columns = result.columns;
  const auto is_id = [](const ResultColumn& column) { return column.name == "id"; };
  const bool from_table = row < result.hits.size();
  const bool has_id = std::ranges::any_of(columns, is_id);
  out += '{';
  if (has_id && from_table)
    fmt::format_to(std::back_inserter(out), "\"_id\":{},",
                   index.documents()[result.hits[row].document].id);
  fmt::format_to(std::back_inserter(out), "\"_score\":{},\"_source\":{{",
                 from_table ? result.hits[row].score : 1);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (is_id(columns[i])) continue;
    if (out.back() != '{') out += ',';
    append_quoted(out, columns[i].name);
    out += ':';
    append_cell(out, result.rows[row][i], columns[i].type, Layout::hit);
  }
  out += "}}";
}

void append_facet(std::string& out, const ResultSet& facet) {
  append_quoted(out, facet.facet);
  out += ":{\"buckets\":[";
  for (const auto& row : facet.rows) {
    if (&row != facet.rows.data()) out += ',';
    out += "{\"key\":";
    append_cell(out, row.front(), facet.columns.front().type, Layout::hit);
    out += ",\"doc_count\":";
    append_cell(out, row.back(), facet.columns.back().type, Layout::hit);
    for (std::size_t i = 1; i + 1 < row.size(); ++i) {
      const auto& name = facet.columns[i].name;
      if (!name.starts_with("count(distinct ")) continue;
      out.append(",").append(json_string(name)).append(":");
      append_cell(out, row[i], facet.columns[i].type, Layout::hit);
    }
    out += '}';
  }
  out += "]}";
}

/// The characters of a UTF-8 text.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

std::string bar(const std::vector<std::size_t>& widths) {
  std::string out = "+";
  for (const auto width : widths) out += std::string(width + 2, '-') + "+";
  return out + "\n";
}

void append_line(std::string& out, const std::vector<std::string>& cells,
                 const std::vector<std::size_t>& widths) {
  out += '|';
  for (std::size_t i = 0; i < cells.size(); ++i)
    out.append(" ").append(cells[i]).append(widths[i] - width_of(cells[i]), ' ').append(" |");
  out += '\n';
}

void append_text_set(std::string& out, const ResultSet& result, double seconds) {
  if (result.columns.empty()) {
    fmt::format_to(std::back_inserter(out), "Query OK, {} row{} affected ({:.3f} sec)\n",
                   result.changed, result.changed == 1 ? "" : "s", seconds);
    return;
  }
  std::vector<std::vector<std::string>> lines(1);
  for (const auto& column : result.columns) lines[0].push_back(column.name);
  for (const auto& row : result.rows) {
    auto& line = lines.emplace_back();
    for (std::size_t i = 0; i < row.size(); ++i)
      line.push_back(std::holds_alternative<std::monostate>(row[i])
                         ? "NULL"
                         : plain_text(row[i], result.columns[i].type));
    for (auto& cell : line) std::ranges::replace(cell, '\n', ' ');
  }
  std::vector<std::size_t> widths(result.columns.size());
  for (const auto& line : lines)
    for (std::size_t i = 0; i < line.size(); ++i)
      widths[i] = std::max(widths[i], width_of(line[i]));
  if (!result.rows.empty()) {
    out += bar(widths);
    append_line(out, lines[0], widths);
    out += bar(widths);
    for (std::size_t i = 1; i < lines.size(); ++i) append_line(out, lines[i], widths);
    out += bar(widths);
  }
  const auto rows = result.rows.size();
  fmt::format_to(std::back_inserter(out), "{} row{} in set ({:.3f} sec)\n", rows,
                 rows == 1 ? "" : "s", seconds);
}

}  // namespace

std::string write_raw(std::span<const ResultSet> results) {
  std::string out = "[";
  for (const auto& result : results) {
    if (&result != results.data()) out += ",\n";
    append_raw_set(out, result);
  }
  return out + "]";
}

std::string write_sql_hits(const Index& index, std::span<const ResultSet> results,
                           std::int64_t took_ms) {
  const auto& main = results[0];
  const auto rows = main.matched ? main.rows.size() : 0;  // aggregates of nothing are no hit
  auto out = fmt::format(
      "{{\"took\":{},\"timed_out\":false,\"hits\":{{\"total\":{},"
      "\"total_relation\":\"{}\",\"hits\":[",
      took_ms, main.matched ? main.found : 0, main.more ? "gte" : "eq");
  for (std::size_t row = 0; row < rows; ++row) {
    if (row > 0) out += ',';
    append_hit(out, index, main, row);
  }
  out += "]}";
  if (results.size() > 1) {
    out += ",\"aggregations\":{";
    for (const auto& facet : results.subspan(1)) {
      if (out.back() != '{') out += ',';
      append_facet(out, facet);
    }
    out += '}';
  }
  if (!main.scroll.empty()) out += fmt::format(",\"scroll\":\"{}\"", main.scroll);
  return out + '}';
}

std::string write_text(std::span<const ResultSet> results, double seconds) {
  std::string out;
  for (const auto& result : results) append_text_set(out, result, seconds);
  return out;
}

}  // namespace karmad::demo
