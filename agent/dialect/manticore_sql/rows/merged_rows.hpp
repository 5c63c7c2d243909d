#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/dialect/manticore_sql/rows/raw_replies.hpp"
#include "agent/dialect/manticore_sql/rows/row_plan.hpp"

namespace karmad {

/// A result set merged of several shards, and what the total of the answer depends on.
struct MergedRows : ResultSet {
  std::uint64_t dropped = 0;  ///< documents of the shards with an id that another one has
  std::uint64_t groups = 0;   ///< of the shards' rows, without those that HAVING leaves out
  std::vector<std::uint64_t> groups_of_shard;  ///< in its rows; empty: the rows are documents
  std::string estimate;  ///< names the columns that may be too small, and why; empty: all are exact
};

/// The position from the left in rows of that many columns; nothing if they have no such column.
inline std::optional<std::size_t> position(ColumnAt column, std::size_t columns) {
  if (column.at >= columns) return std::nullopt;
  return column.from_right ? columns - 1 - column.at : column.at;
}

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

}  // namespace karmad
