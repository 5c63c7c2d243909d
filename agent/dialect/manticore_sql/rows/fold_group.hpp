#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/dialect/manticore_sql/rows/row_plan.hpp"

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

}  // namespace karmad
