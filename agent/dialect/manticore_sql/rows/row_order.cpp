#include "agent/dialect/manticore_sql/rows/row_order.hpp"

#include <algorithm>
#include <numeric>

#include "agent/json/json_cursor.hpp"
#include "agent/json/json_text.hpp"

namespace karmad {

namespace {

/// Whether the cell may show a boolean, an array or an object.
bool hides_type(std::string_view cell) {
  if (!is_string(cell) || cell.size() < 3) return false;
  const char first = cell[1];
  return first == '{' || first == '[' || (cell.size() == 3 && (first == '0' || first == '1'));
}

}  // namespace

SortValue path_sort_value(std::string_view cell, std::string_view attribute,
                          std::span<const JsonStep> steps, SortText& room) {
  auto sorted = json_sort_value(cell, room);
  if (!hides_type(cell) || !is_string(attribute)) return sorted;
  const auto whole = json_unescaped(without_quotes(attribute));
  const auto value = whole_value(whole) ? value_at(whole, steps) : std::string_view();
  if (!value.empty() && std::string_view("tf[{").find(value.front()) != std::string_view::npos)
    sorted.text = {};
  return sorted;
}

bool RowOrder::add(std::span<const RowKey> keys, std::size_t columns) {
  for (const auto& key : keys) {
    const auto at = position(key.column, columns);
    if (!at) return false;
    keys_.push_back({*at, key.descending, key.as_text, {}, key.steps});
    if (key.attribute) keys_.back().attribute = position(*key.attribute, columns);
  }
  return true;
}

void RowOrder::sort(const ResultSet& rows, Collation collation,
                    std::span<std::uint32_t> numbers) const {
  if (numbers.size() < 2 || keys_.empty()) return;
  const std::vector<std::uint32_t> rows_of(numbers.begin(), numbers.end());
  std::iota(numbers.begin(), numbers.end(), 0U);
  sort_by(rows, collation, rows_of, numbers);
  for (auto& number : numbers) number = rows_of[number];
}

void RowOrder::sort_by(const ResultSet& rows, Collation collation,
                       std::span<const std::uint32_t> rows_of,
                       std::span<std::uint32_t> places) const {
  if (rows_of.size() < 2 || keys_.empty()) return;
  const auto keys = keys_.size();
  std::vector<SortValue> values(rows_of.size() * keys);
  std::vector<SortText> texts(
      std::ranges::any_of(keys_, [](const Key& key) { return key.as_text; }) ? values.size() : 0);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto& key = keys_[i % keys];
    const auto row = rows.row(rows_of[i / keys]);
    const auto attribute = key.attribute ? row[*key.attribute] : std::string_view();
    values[i] = key.as_text ? path_sort_value(row[key.column], attribute, key.steps, texts[i])
                            : sort_value(row[key.column]);
  }
  std::ranges::stable_sort(places, [&](std::uint32_t a, std::uint32_t b) {
    for (std::size_t k = 0; k < keys; ++k) {
      const auto order = compare(values[a * keys + k], values[b * keys + k], collation);
      if (order != 0) return (order < 0) != keys_[k].descending;
    }
    return false;
  });
}

}  // namespace karmad
