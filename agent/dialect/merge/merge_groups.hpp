#pragma once

#include <cstddef>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/dialect/merge/distinct_pairs.hpp"
#include "agent/dialect/merge/merged_rows.hpp"
#include "agent/dialect/replies/shard_reply.hpp"
#include "agent/dialect/rows/row_plan.hpp"
#include "agent/dialect/rows/sort_value.hpp"

namespace karmad {

/// The rows of one group, of several shards in their order: JSON values, one for each column.
using GroupRows = std::span<const std::span<const std::string_view>>;

/// A column of a group whose values become one, with its positions in the rows.
struct FoldColumn {
  Fold fold = Fold::keep;
  std::size_t column = 0;
  std::size_t weight = 0;             ///< Fold::mean
  std::optional<std::size_t> sum;     ///< Fold::mean
  std::optional<std::size_t> counts;  ///< column with the number of documents in a row, if known
};

/// The value of the column over all rows, a JSON value; empty: that of the first row. Not for
/// Fold::distinct. Sums and means as in merge_metric() and exact_mean(); minimum and maximum, also
/// of strings, are copied.
std::string folded_value(const FoldColumn& column, GroupRows rows, Collation collation);

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

  /// Whether `cell` compares with the value in one of the three ways.
  bool compares(const SortValue& cell, std::size_t value, bool less, bool equal,
                bool greater) const;
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
