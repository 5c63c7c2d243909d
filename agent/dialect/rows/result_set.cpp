#include "agent/dialect/rows/result_set.hpp"

#include "agent/json/json_cursor.hpp"
#include "agent/json/json_line.hpp"
#include "agent/json/json_text.hpp"

namespace karmad {

void ResultSet::add_column(std::string_view name, std::string_view type) {
  auto& escaped = made.emplace_front();
  JsonLine(escaped).add_escaped(name);
  columns.push_back({escaped, type});
}

void ResultSet::add_row(std::span<const std::string_view> texts) {
  for (const auto text : texts) {
    auto& quoted = made.emplace_front();
    JsonLine(quoted).add_quoted(text);
    cells.push_back(quoted);
  }
  ++count;
}

ResultSet text_rows(std::initializer_list<std::string_view> columns) {
  ResultSet set;
  for (const auto name : columns) set.add_column(name);
  return set;
}

ResultSet copy_of(const ResultSet& set) {
  ResultSet copy{.columns = set.columns,
                 .hidden = set.hidden,
                 .behind = set.behind,
                 .cells = set.cells,
                 .count = set.count,
                 .warning = set.warning};
  for (auto& column : copy.columns) column.name = copy.made.emplace_front(column.name);
  for (auto& cell : copy.cells) cell = copy.made.emplace_front(cell);
  return copy;
}

std::string cell_text(std::string_view cell) {
  return is_string(cell) ? json_unescaped(without_quotes(cell)) : std::string(cell);
}

}  // namespace karmad
