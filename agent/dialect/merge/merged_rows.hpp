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
#include "agent/dialect/replies/shard_reply.hpp"
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
/// first shard; the second column of a name is another one than the first. Sets without rows are
/// left out, unless no shard has rows.
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

/// Sets the values of row `number` by the cells of a row that has the columns.
void read_values(SortTable<RowKey>& values, std::size_t number,
                 std::span<const std::string_view> cells);

/// Sorts items, `row_of(item)` being the number of a row; equal rows keep their order.
template <class Item, class RowOf>
void sort_rows(std::span<const RowKey> keys, const ResultSet& rows, Collation collation,
               std::span<Item> items, RowOf row_of) {
  if (items.size() < 2 || keys.empty()) return;
  SortTable<RowKey> values(keys, collation, items.size());
  for (std::size_t i = 0; i < items.size(); ++i) read_values(values, i, rows.row(row_of(items[i])));
  values.sort(items);
}

/// Walks the documents of the shards' result sets of number `set` in the order `plan.order` and
/// keeps those from `plan.offset` up to `plan.offset + plan.limit`, as SortedMerge does.
std::expected<MergedRows, BadReply> merge_documents(const RawReplies& replies, std::size_t set,
                                                    const RowPlan& plan, Collation collation);

/// The value of a group or metric in the reply of one shard.
struct Measured {
  std::string_view value;       ///< JSON
  std::uint64_t documents = 1;  ///< behind it
  std::string_view sum{};       ///< Fold::mean: JSON, the sum of the values, if it is known
};

/// The column's type, as far as sums depend on it.
enum class SumOf : std::uint8_t {
  numbers,  ///< as many digits as they need
  whole,    ///< of 64 bits: a sum wraps around
  floats,   ///< of 32 bits: a sum has as many digits
};

/// The value over all shards, JSON; empty: no shard has documents, or it is Fold::keep or distinct,
/// whose value is none of the values alone. `null`: it is beyond the range of numbers. Numbers get
/// as many decimals as in the replies, and sums of integers are exact. Minimum and maximum, also of
/// strings, are copied; of equal ones the first.
///
/// A mean is weighted by the documents. With sums it is exact: a sum counts where it agrees with
/// the mean of the same shard. Else it has wrapped around at 64 bits, or has fewer digits than the
/// mean, as sums of floats have: then the mean times the documents counts.
std::string folded(Fold fold, std::span<const Measured> values, Collation collation,
                   SumOf sum_of = SumOf::numbers);

/// The number of different values in each group, over all shards; `null` is none. Keeps 24 bytes
/// for each pair of a group and a value: keyed hashes, of 128 bits for the pair, so that different
/// pairs are never taken for the same one.
///
/// A column of several values has all those of one document, and the document is in the group of
/// each: it stands for as many pairs. So all pairs are known, though no row says which value it is
/// the row of.
class DistinctPairs {
 public:
  /// Reads the result sets of number `set`, one pair a row.
  static std::expected<DistinctPairs, BadReply> read(const RawReplies& replies, std::size_t set,
                                                     const PairsPlan& plan, Collation collation);

  /// Number of different values of the group with that key, a JSON value for each part.
  std::uint64_t values_of(std::span<const std::string_view> key) const;

  /// False: the groups have several keys, one of them of several values, and are known by a hash
  /// only. Then values_of({}) is the number of different values of all groups.
  bool by_group() const { return by_group_; }

  /// A shard returned as many pairs as requested: it may have more.
  bool may_be_short() const { return may_be_short_; }

 private:
  struct Pair {
    std::uint64_t group = 0;
    std::uint64_t pair[2] = {};
    auto operator<=>(const Pair&) const = default;
  };
  struct Group {
    std::uint64_t group = 0;
    std::uint64_t values = 0;
  };

  DistinctPairs(std::vector<KeyKind> kinds, Collation collation)
      : kinds_(std::move(kinds)), collation_(collation) {}
  void count_values(std::vector<Pair>& pairs);

  std::vector<KeyKind> kinds_;  // of the parts of the key, then of the value
  Collation collation_;
  std::vector<Group> groups_;  // ascending
  bool by_group_ = true;
  bool may_be_short_ = false;
};

/// The text as a number that HAVING compares with; nothing: it is none, or not finite.
std::optional<JsonNumber> number_of_having(std::string_view text);

/// A condition of HAVING with its values ready for comparison. Refers to `condition`.
class Having {
 public:
  Having(const RowCondition& condition, Collation collation);

  /// `cell`: a JSON value. Numbers are compared with values that are numbers, strings with all
  /// values as texts; other comparisons are not fulfilled.
  bool holds(std::string_view cell) const;

 private:
  struct Value {
    std::string escaped;  // the value as the inside of a JSON string
    std::optional<SortValue> number;
    SortValue text;
  };

  bool fulfils(const SortValue& cell) const;

  const RowCondition& condition_;
  Collation collation_;
  std::vector<Value> values_;
};

/// Merges the groups of the shards' result sets of number `set`: rows with equal keys become one
/// group, its values are folded, HAVING leaves groups out, and the rest is ordered and cut to the
/// page. Groups that are equal in the order stay in the order in which the shards name them first.
/// All rows are read. `pairs` belongs to `FoldedColumn::pairs`.
std::expected<MergedRows, BadReply> merge_groups(const RawReplies& replies, std::size_t set,
                                                 const RowPlan& plan, Collation collation,
                                                 std::span<const DistinctPairs> pairs);

}  // namespace karmad
