#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/dialect/replies/raw_replies.hpp"
#include "agent/dialect/rows/row_plan.hpp"
#include "agent/dialect/rows/sort_value.hpp"

namespace karmad {

/// A result set merged of several shards, and what the total of the answer depends on.
struct MergedRows : ResultSet {
  std::uint64_t dropped = 0;  ///< documents of the shards with an id that another one has
  std::uint64_t groups = 0;   ///< of the shards' rows, without those that HAVING leaves out
  std::vector<std::uint64_t> groups_of_shard;  ///< in its rows; empty: the rows are documents
  std::string estimate;  ///< names the columns that may be too small, and why; empty: all are exact
};

/// The columns that the result sets of one number have in all shards, by name, in the order of the
/// first shard. Sets without rows are left out, unless no shard has rows.
class CommonColumns {
 public:
  CommonColumns(const RawReplies& replies, std::size_t set);

  const std::vector<RawColumn>& columns() const { return columns_; }
  /// Most columns of a shard.
  std::size_t widest() const { return widest_; }
  /// Appends the cells of the common columns of a shard's row.
  void append(std::size_t shard, std::span<const std::string_view> row,
              std::vector<std::string_view>& cells) const;

 private:
  void keep_common(const RawReplies& replies, std::size_t set);

  std::vector<RawColumn> columns_;
  std::vector<std::size_t> places_;  // by shard, one per column; empty: all shards have the same
  std::size_t widest_ = 0;
};

/// Appends all rows of a shard's result set to `merged`, which has the common columns. False: a row
/// is malformed.
bool append_rows(const RawReplies& replies, std::size_t shard, std::size_t set,
                 const CommonColumns& common, ResultSet& merged);

/// Whether rows with that many columns have those of the keys.
bool have_columns(std::span<const RowKey> keys, std::size_t columns);
/// Whether a key is a value inside JSON: the SortTable makes texts.
bool sorts_as_text(std::span<const RowKey> keys);

/// Sets the values of row `number` by the cells of a row that has the columns.
void read_values(SortTable<RowKey>& values, std::size_t number,
                 std::span<const std::string_view> cells);

/// Sorts items, `row_of(item)` being the number of a row; equal rows keep their order.
template <class Item, class RowOf>
void sort_rows(std::span<const RowKey> keys, const ResultSet& rows, Collation collation,
               std::span<Item> items, RowOf row_of) {
  if (items.size() < 2 || keys.empty()) return;
  SortTable<RowKey> values(keys, collation, items.size(), sorts_as_text(keys));
  for (std::size_t i = 0; i < items.size(); ++i) read_values(values, i, rows.row(row_of(items[i])));
  values.sort(items);
}

/// Walks the documents of the shards' result sets of number `set` in the order `plan.order` and
/// keeps those from `plan.offset` up to `plan.offset + plan.limit`, as SortedMerge does.
std::expected<MergedRows, BadReply> merge_documents(const RawReplies& replies, std::size_t set,
                                                    const RowPlan& plan, Collation collation);

}  // namespace karmad
