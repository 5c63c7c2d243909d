#pragma once

#include <cstddef>
#include <cstdint>
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
/// is malformed. `added` is called after each row.
template <class Added>
bool append_rows(const RawReplies& replies, std::size_t shard, std::size_t set,
                 const CommonColumns& common, ResultSet& merged, Added added) {
  const auto& from = replies.set(shard, set);
  std::vector<std::string_view> row(from.columns);
  RawRows rows(from.rows);
  for (;;) {
    const auto step = rows.next(replies.columns_of(from), row.data());
    if (step != RawRows::Step::row) return step == RawRows::Step::end;
    if (merged.columns.empty()) continue;
    common.append(shard, row, merged.cells);
    ++merged.count;
    added();
  }
}

/// The value by which a row is sorted, of a cell that holds a value inside JSON. Rows show booleans
/// as 1 or 0, and arrays and objects as texts, but the server orders all of these like a missing
/// value: `attribute`, the cell with the whole attribute, tells them apart. `room` as for
/// json_sort_value().
SortValue path_sort_value(std::string_view cell, std::string_view attribute,
                          std::span<const JsonStep> steps, SortText& room);

/// An order of rows that have been read, by the columns of a plan.
class RowOrder {
 public:
  /// Adds the keys, which must outlive it, for rows with that many columns; false: there is no such
  /// column.
  bool add(std::span<const RowKey> keys, std::size_t columns);

  /// Sorts numbers of rows; equal rows keep their order.
  void sort(const ResultSet& rows, Collation collation, std::span<std::uint32_t> numbers) const;

  /// Sorts `places` by the rows `rows_of[place]`; equal rows keep their order.
  void sort_by(const ResultSet& rows, Collation collation, std::span<const std::uint32_t> rows_of,
               std::span<std::uint32_t> places) const;

 private:
  struct Key {
    std::size_t column = 0;
    bool descending = false;
    bool as_text = false;
    std::optional<std::size_t> attribute;
    std::span<const JsonStep> steps;
  };
  std::vector<Key> keys_;
};

}  // namespace karmad
