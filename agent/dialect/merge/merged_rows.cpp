#include "agent/dialect/merge/merged_rows.hpp"

#include <algorithm>
#include <unordered_map>

#include "agent/dialect/merge/sorted_merge.hpp"
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
    same &= found.first_column == first->first_column ||
            std::ranges::equal(replies.columns_of(found), replies.columns_of(*first), {},
                               &RawColumn::name, &RawColumn::name);
  }
  const auto columns = first == nullptr ? replies.listed_columns(set) : replies.columns_of(*first);
  columns_.assign(columns.begin(), columns.end());
  if (!same) keep_common(replies, set);
}

void CommonColumns::keep_common(const RawReplies& replies, std::size_t set) {
  using Places = std::unordered_map<std::string_view, std::vector<std::size_t>, KeyedHash>;
  std::vector<Places> known(replies.shards());
  for (std::size_t s = 0; s < replies.shards(); ++s) {
    const auto columns = replies.columns_of(replies.set(s, set));
    for (std::size_t c = 0; c < columns.size(); ++c) known[s][columns[c].name].push_back(c);
  }
  std::unordered_map<std::string_view, std::size_t, KeyedHash> seen;  // columns, by name
  std::vector<std::size_t> numbers;  // by common column, of those with its name before it
  std::vector<RawColumn> common;
  for (const auto& column : columns_) {
    const auto number = seen[column.name]++;
    const auto lacks = [&](const Places& places) {
      const auto found = places.find(column.name);
      return !places.empty() && (found == places.end() || found->second.size() <= number);
    };
    if (std::ranges::any_of(known, lacks)) continue;
    common.push_back(column);
    numbers.push_back(number);
  }
  columns_ = std::move(common);
  places_.resize(replies.shards() * columns_.size());
  for (std::size_t s = 0; s < replies.shards(); ++s)
    for (std::size_t c = 0; c < columns_.size() && !known[s].empty(); ++c)
      places_[s * columns_.size() + c] = known[s].find(columns_[c].name)->second[numbers[c]];
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

bool append_rows(const RawReplies& replies, std::size_t shard, std::size_t set,
                 const CommonColumns& common, ResultSet& merged) {
  const auto append = [&](std::span<const std::string_view> row) {
    if (merged.columns.empty()) return;
    common.append(shard, row, merged.cells);
    ++merged.count;
  };
  return visit_rows(replies, replies.set(shard, set), append);
}

namespace {

/// Whether the cell may show a boolean, an array or an object.
bool hides_type(std::string_view cell) {
  if (!is_string(cell) || cell.size() < 3) return false;
  const char first = cell[1];
  return first == '{' || first == '[' || (cell.size() == 3 && (first == '0' || first == '1'));
}

/// The value by which a row is sorted, of a cell that holds a value inside JSON. Rows show booleans
/// as 1 or 0, and arrays and objects as texts, but the server orders all of these like a missing
/// value: the cell with the whole attribute tells them apart.
SortValue path_value(const RowKey& key, std::span<const std::string_view> cells,
                     std::string_view cell, SortText& room) {
  auto sorted = json_sort_value(cell, room);
  const auto at = key.attribute ? position(*key.attribute, cells.size()) : std::nullopt;
  if (!at || !hides_type(cell) || !is_string(cells[*at])) return sorted;
  const auto whole = json_unescaped(without_quotes(cells[*at]));
  const auto value = whole_value(whole) ? value_at(whole, key.steps) : std::string_view();
  if (!value.empty() && std::string_view("tf[{").find(value.front()) != std::string_view::npos)
    sorted.text = {};
  return sorted;
}

}  // namespace

bool have_columns(std::span<const RowKey> keys, std::size_t columns) {
  return std::ranges::all_of(
      keys, [&](const RowKey& key) { return position(key.column, columns).has_value(); });
}

void read_values(SortTable<RowKey>& values, std::size_t number,
                 std::span<const std::string_view> cells) {
  const auto keys = values.keys();
  auto* const row = values.row(number);
  for (std::size_t k = 0; k < keys.size(); ++k) {
    const auto cell = cells[*position(keys[k].column, cells.size())];
    if (keys[k].as_text)
      row[k] = path_value(keys[k], cells, cell, values.room(number, k));
    else
      row[k] = sort_value(cell);
  }
}

namespace {

/// The rows of one shard during the walk.
struct RowLane : MergeLane {
  RawRows rows;
  std::span<const RawColumn> columns;

  std::string_view cell(std::span<const std::string_view> row, const std::optional<ColumnAt>& at) {
    return at ? row[*position(*at, columns.size())] : std::string_view();
  }
};

struct DocumentRows {
  const RowPlan& plan;
  MergedRows& merged;
  CommonColumns common;
  std::vector<RowLane> lanes;
  std::vector<std::string_view> cells;  ///< by lane, of its current row
  SortTable<RowKey> values;

  DocumentRows(const RawReplies& replies, std::size_t set, const RowPlan& how, Collation collation,
               MergedRows& to)
      : plan(how),
        merged(to),
        common(replies, set),
        lanes(replies.shards()),
        cells(replies.shards() * common.widest()),
        values(plan.order, collation, replies.shards()) {
    for (std::size_t s = 0; s < lanes.size(); ++s) {
      const auto& from = replies.set(s, set);
      lanes[s].rows = RawRows(from.rows);
      lanes[s].columns = replies.columns_of(from);
    }
    merged.columns = common.columns();
    merged.hidden = plan.hidden;
    merged.behind = plan.behind;
    merged.cells.reserve(std::min(plan.limit, most_rows()) * merged.columns.size());
  }

  /// A shard whose rows lack a column of the plan.
  std::optional<std::size_t> lacking() const {
    for (std::size_t s = 0; s < lanes.size(); ++s) {
      const auto width = lanes[s].columns.size();
      const auto has = [&](const std::optional<ColumnAt>& at) {
        return !at || position(*at, width);
      };
      if (width != 0 && !(have_columns(plan.order, width) && has(plan.id) && has(plan.distance)))
        return s;
    }
    return std::nullopt;
  }

  std::span<std::string_view> row(std::size_t shard) {
    return std::span(cells).subspan(shard * common.widest(), lanes[shard].columns.size());
  }

  RawRows::Step next(std::size_t shard) {
    auto& lane = lanes[shard];
    const auto current = row(shard);
    const auto step = lane.rows.next(lane.columns, current.data());
    if (step != RawRows::Step::row) return step;
    lane.id = lane.cell(current, plan.id);
    lane.distance = lane.cell(current, plan.distance);
    read_values(values, shard, current);
    return step;
  }

  /// By the bytes received: no cell is shorter than `"":0,`.
  std::size_t most_rows() const {
    std::size_t rows = 0;
    for (const auto& lane : lanes)
      if (!lane.columns.empty()) rows += 1 + lane.rows.bytes_left() / (5 * lane.columns.size());
    return rows;
  }

  void keep(std::size_t shard) {
    common.append(shard, row(shard), merged.cells);
    ++merged.count;
  }
};

}  // namespace

std::expected<MergedRows, BadReply> merge_documents(const RawReplies& replies, std::size_t set,
                                                    const RowPlan& plan, Collation collation) {
  MergedRows merged;
  DocumentRows rows(replies, set, plan, collation, merged);
  if (plan.limit == 0) return merged;
  if (const auto shard = rows.lacking())
    return std::unexpected(BadReply{*shard, "its rows lack columns that were requested"});
  SortedMerge walk(rows, {plan.offset, plan.limit, plan.distance ? plan.nearest : 0});
  if (const auto shard = walk.run()) return std::unexpected(BadReply{*shard, "a row is malformed"});
  merged.dropped = walk.copies();
  return merged;
}

}  // namespace karmad
