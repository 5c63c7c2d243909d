#include "agent/dialect/merge/merged_rows.hpp"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "agent/json/json_cursor.hpp"
#include "agent/json/json_text.hpp"
#include "agent/json/keyed_hash.hpp"

namespace karmad {

CommonColumns::CommonColumns(const RawReplies& replies, std::size_t set) {
  const RawSet* first = nullptr;
  bool same = true;
  for (std::size_t s = 0; s < replies.shards(); ++s) {
    const auto& found = replies.set(s, set);
    if (found.columns == 0) continue;
    widest_ = std::max(widest_, found.columns);
    if (first == nullptr) first = &found;
    same &= found.columns == first->columns && found.first_column == first->first_column;
  }
  const auto columns = first == nullptr ? replies.listed_columns(set) : replies.columns_of(*first);
  columns_.assign(columns.begin(), columns.end());
  if (!same) keep_common(replies, set);
}

void CommonColumns::keep_common(const RawReplies& replies, std::size_t set) {
  using Places = std::unordered_map<std::string_view, std::size_t, KeyedHash>;
  std::vector<Places> known(replies.shards());
  for (std::size_t s = 0; s < replies.shards(); ++s) {
    const auto columns = replies.columns_of(replies.set(s, set));
    for (std::size_t c = 0; c < columns.size(); ++c) known[s].try_emplace(columns[c].name, c);
  }
  std::erase_if(columns_, [&](const RawColumn& column) {
    return std::ranges::any_of(known, [&](const Places& places) {
      return !places.empty() && !places.contains(column.name);
    });
  });
  places_.resize(replies.shards() * columns_.size());
  for (std::size_t s = 0; s < replies.shards(); ++s)
    for (std::size_t c = 0; c < columns_.size() && !known[s].empty(); ++c)
      places_[s * columns_.size() + c] = known[s].find(columns_[c].name)->second;
}

void CommonColumns::append(std::size_t shard, std::span<const std::string_view> row,
                           std::vector<std::string_view>& cells) const {
  if (places_.empty()) {
    cells.insert(cells.end(), row.begin(),
                 row.begin() + static_cast<std::ptrdiff_t>(columns_.size()));
    return;
  }
  const auto places = std::span(places_).subspan(shard * columns_.size(), columns_.size());
  for (const auto place : places) cells.push_back(row[place]);
}

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
