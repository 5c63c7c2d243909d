#include "balancer/status/rows/render.hpp"

#include <cstddef>
#include <vector>

#include "agent/json/drawn_table.hpp"
#include "agent/json/json_line.hpp"

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
  std::vector<std::vector<std::string>> lines{set.columns};
  lines.insert(lines.end(), set.rows.begin(), set.rows.end());
  append_drawn_table(out, lines);
}

}  // namespace karmad
